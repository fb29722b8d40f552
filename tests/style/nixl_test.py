#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NIXL plugin is one file that fits elsewhere: what it needs, and what it shows.
Usage: nixl_test.py PLUGIN"""
import re
import sys

import tap

plugin = sys.argv[1]
# What a wheel for manylinux_2_34 may need.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}


def it_needs_the_libraries_of_the_compiler_alone():
    needed = re.findall(r"NEEDED.*\[(.*)\]", tap.succeeds("readelf", "-d", plugin))
    other = [name for name in needed
             if not re.match(r"(libc|libstdc\+\+|libgcc_s|libm|libpthread|libdl|ld-linux[\w-]*)\.so", name)]
    assert needed and not other, "needed: " + " ".join(other)


def it_needs_no_newer_symbols():
    listing = tap.succeeds("objdump", "-T", plugin)
    found = set(re.findall(r"\b([A-Z]+)_([0-9.]+)\b", listing))
    assert ("GLIBC", "2.34") in found, listing
    new = ["%s_%s" % (library, version) for library, version in sorted(found)
           if tuple(map(int, version.split("."))) > NEWEST[library]]
    assert not new, " ".join(new)


def it_shows_two_functions():
    listing = tap.succeeds("nm", "-D", "--defined-only", plugin)
    names = sorted(line.split()[-1] for line in listing.splitlines())
    assert names == ["nixl_plugin_fini", "nixl_plugin_init"], " ".join(names)


def it_names_nothing_of_nixl_or_abseil():
    listing = tap.succeeds("nm", "-D", "--undefined-only", plugin)
    foreign = [line.split()[-1] for line in listing.splitlines() if re.search("nixl|absl|tcpx", line)]
    assert not foreign, " ".join(foreign)


def it_binds_its_symbols_to_itself():
    assert "SYMBOLIC" in tap.succeeds("readelf", "-d", plugin)


tap.run([it_needs_the_libraries_of_the_compiler_alone,
         it_needs_no_newer_symbols,
         it_shows_two_functions,
         it_names_nothing_of_nixl_or_abseil,
         it_binds_its_symbols_to_itself])
