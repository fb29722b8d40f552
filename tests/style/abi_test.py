#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public header, the linker map and the library agree, and the header needs no
other. Usage: abi_test.py SOURCE-ROOT LIBRARY"""
import os
import re
import shutil
import sys

import tap

root, library = sys.argv[1:3]
HEADERS = ("tcpx/tcpx.h", "tcpx/err.h")


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)


def declared():
    text = re.sub(r"^\s*#.*$", "", read("include/tcpx/tcpx.h"), flags=re.M)
    return set(re.findall(r"\bTCPX_API\b[^;(]*?\b(tcpx_\w+)\s*\(", text))


def mapped():
    return set(re.findall(r"\b(tcpx_\w+)\s*;", read("src/lib/tcpx.map")))


def exported():
    """The library's functions, and the version that each carries."""
    listing = tap.succeeds("nm", "-D", "--defined-only", library)
    symbols = {}
    for line in listing.splitlines():
        _, kind, name = line.split()
        if kind != "A":  # the version node itself
            name, _, version = name.partition("@@")
            symbols[name] = version
    return symbols


def same(a, a_name, b, b_name):
    assert a, "%s has no symbol at all" % a_name
    text = ["only in %s: %s" % (a_name, name) for name in sorted(a - b)]
    text += ["only in %s: %s" % (b_name, name) for name in sorted(b - a)]
    assert not text, "\n".join(text)


def compiles(language, standard, *compilers):
    found = next((c for c in compilers if shutil.which(c)), None)
    if not found:
        raise tap.Skip("no compiler of %s here" % language)
    for header in HEADERS:
        tap.succeeds(found, "-x", language, "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic",
                     "-Werror", "-fsyntax-only", "-I", os.path.join(root, "include"), "-",
                     text='#include "%s"\n#include "%s"\n' % (header, header))


def every_function_of_the_header_is_in_the_map():
    same(declared(), "tcpx.h", mapped(), "tcpx.map")


def the_library_exports_the_header_and_nothing_else():
    same(set(exported()), "the library", declared(), "tcpx.h")


def every_export_has_a_version():
    bare = [name for name, version in exported().items() if not version.startswith("TCPX_")]
    assert not bare, "without a version: " + " ".join(bare)


def the_library_is_named_for_its_abi():
    dynamic = tap.succeeds("readelf", "-d", library)
    assert "[libtcpx-p2p.so.0]" in dynamic, dynamic


def the_header_compiles_alone_as_c11():
    compiles("c", "c11", "cc", "gcc", "clang")


def the_header_compiles_alone_as_c17_plus_plus():
    compiles("c++", "c++17", "c++", "g++", "clang++")


tap.run([every_function_of_the_header_is_in_the_map,
         the_library_exports_the_header_and_nothing_else,
         every_export_has_a_version,
         the_library_is_named_for_its_abi,
         the_header_compiles_alone_as_c11,
         the_header_compiles_alone_as_c17_plus_plus])
