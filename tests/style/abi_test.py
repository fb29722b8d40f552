#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public header, the linker map and the library agree, and the header needs no
other. Usage: abi_test.py SOURCE-ROOT LIBRARY"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import tap

root, library = sys.argv[1:3]
HEADERS = ("tcpx/tcpx.h", "tcpx/err.h", "tcpx/version.h")


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


def compiles(language, text, *options):
    """@text is a whole source, of "c11", say."""
    name, others = ("c++", ("g++", "clang++")) if "++" in language else ("c", ("gcc", "clang"))
    found = next((c for c in ("cc" if name == "c" else name, *others) if shutil.which(c)), None)
    if not found:
        raise tap.Skip("no compiler of %s here" % name)
    tap.succeeds(found, "-x", name, "-std=" + language, "-Wall", "-Wextra", "-pedantic", "-Werror",
                 "-I", os.path.join(root, "include"), *options, "-", text=text)


def each_header_compiles(language):
    for header in HEADERS:
        compiles(language, '#include "%s"\n#include "%s"\nextern int more;\n' % (header, header),
                 "-fsyntax-only")


def each_init_works(language):
    """At the file's level and in a function; every struct with struct_size has one."""
    text = read("include/tcpx/tcpx.h")
    inits = re.findall(r"^#define (TCPX_\w+_INIT)\s+TCPX_SIZED\((\w+)\)", text, re.M)
    sized = re.findall(r"^struct (\w+) \{\s*size_t struct_size;", text, re.M)
    assert sorted(sized) == sorted(name for _, name in inits), (sized, inits)
    program = '#include "tcpx/tcpx.h"\n'
    program += "".join("static struct %s of_file_%s = %s;\n" % (s, s, i) for i, s in inits)
    program += "int main(void)\n{\n\tint wrong = 0;\n"
    for init, name in inits:
        program += ("\t{ struct %s x = %s;\n\twrong += x.struct_size != sizeof(x) ||\n"
                    "\t\tof_file_%s.struct_size != sizeof(x); }\n" % (name, init, name))
    with tempfile.TemporaryDirectory() as folder:
        compiles(language, program + "\treturn wrong;\n}\n", "-o", os.path.join(folder, "inits"))
        tap.succeeds(os.path.join(folder, "inits"))


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


def each_header_compiles_alone_as_c11():
    each_header_compiles("c11")


def each_header_compiles_alone_as_c11_plus_plus():
    each_header_compiles("c++11")


def each_header_compiles_alone_as_c17_plus_plus():
    each_header_compiles("c++17")


def each_init_works_in_c11():
    each_init_works("c11")


def each_init_works_in_c11_plus_plus():
    each_init_works("c++11")


def the_version_of_the_header_is_the_projects():
    """tcpx_version() gives meson's."""
    header = dict(re.findall(r"#define TCPX_VERSION_(\w+) (\d+)", read("include/tcpx/version.h")))
    said = ".".join(header[part] for part in ("MAJOR", "MINOR", "PATCH"))
    project = re.search(r"^  version: '(\S+)'", read("meson.build"), re.M).group(1)
    assert said == project, "the header says %s, meson.build %s" % (said, project)
    checks = "#if %sTCPX_VERSION_AT_LEAST(%s)\n#error %s\n#endif\n"
    major, minor, patch = (int(number) for number in said.split("."))
    text = "#include <tcpx/version.h>\nextern int more;\n"
    for least in ((major, minor, patch), (0, 0, 999)):
        text += checks % ("!", "%u, %u, %u" % least, "too high")
    for least in ((major, minor, patch + 1), (major, minor + 1, 0), (major + 1, 0, 0)):
        text += checks % ("", "%u, %u, %u" % least, "too low")
    compiles("c11", text, "-fsyntax-only")


def compared(path="include/tcpx/tcpx.h", old="", new=""):
    """What scripts/abi.py says of a tree in which @new stands for @old: (status, text)."""
    if struct.calcsize("P") != 8:
        raise tap.Skip("the record is of 64-bit machines")
    with tempfile.TemporaryDirectory() as tree:
        for folder in ("include", "src/lib"):
            shutil.copytree(os.path.join(root, folder), os.path.join(tree, folder))
        with open(os.path.join(tree, path), "r+", encoding="utf-8") as f:
            text = f.read()
            assert old in text, "no %s in %s" % (old, path)
            f.seek(0)
            f.truncate()
            f.write(text.replace(old, new, 1))
        done = subprocess.run([sys.executable, os.path.join(root, "scripts/abi.py"), tree],
                              stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout


def the_interface_is_the_one_on_record():
    status, said = compared()
    for line in said.splitlines():
        print("# " + line)
    assert status == 0, said


def what_would_break_a_program_is_found():
    for old, new, why in (
            ("\tuint64_t offset;\n", "", "gone: member tcpx_desc.offset"),
            ("\tuint64_t offset;\n", "\tuint32_t offset;\n", "changed: member tcpx_desc.offset 8 4"),
            ("\tuint64_t len;\n};", "\tuint64_t len, more;\n};", "not behind the end"),
            ("\tint peer_events;", "\tint peer_events, more;", "not behind the end"),
            ("\tuint64_t incarnation;\n\tint status;", "\tint status; uint64_t incarnation;\n",
             "changed: member tcpx_peer_info.status"),
            ("TCPX_OP_READ = 2", "TCPX_OP_READ = 5", "changed: value TCPX_OP_READ 5"),
            ("uint16_t tcpx_port(", "uint16_t tcpx_port_of(", "gone: call tcpx_port"),
            ("tcpx_port(tcpx_engine *engine)", "tcpx_port(tcpx_engine *engine, int which)",
             "changed: call tcpx_port"),
            ("int level, const char *line)", "int level, const char *line, int n)",
             "changed: type tcpx_log_sink_fn")):
        status, said = compared(old=old, new=new)
        assert status == 1 and why in said, (old, new, said)
    status, said = compared("src/lib/tcpx.map", "TCPX_0.1 {", "TCPX_0.2 {")
    assert status == 1 and "changed: call tcpx_open TCPX_0.2" in said, said


def what_is_added_at_an_end_passes_with_a_note():
    for old, new, why in (
            ("is load  */\n};", "is load  */\n\tuint64_t more;\n};",
             "new: member tcpx_peer_info.more 328 8"),
            ("\tuint32_t mbps;", "\tuint32_t mbps; uint64_t more;", "grown: struct tcpx_nic_info"),
            ("TCPX_OP_RECV = 4", "TCPX_OP_RECV = 4, TCPX_OP_MORE = 5", "new: value TCPX_OP_MORE 5"),
            ("#define TCPX_NAME_MAX ", "#define TCPX_MORE 7\n#define TCPX_NAME_MAX ",
             "new: value TCPX_MORE 7")):
        status, said = compared(old=old, new=new)
        assert status == 0 and why in said and "--record" in said, (old, new, said)


tap.run([every_function_of_the_header_is_in_the_map,
         the_library_exports_the_header_and_nothing_else,
         every_export_has_a_version,
         the_library_is_named_for_its_abi,
         the_interface_is_the_one_on_record,
         what_would_break_a_program_is_found,
         what_is_added_at_an_end_passes_with_a_note,
         the_version_of_the_header_is_the_projects,
         each_header_compiles_alone_as_c11,
         each_header_compiles_alone_as_c11_plus_plus,
         each_header_compiles_alone_as_c17_plus_plus,
         each_init_works_in_c11,
         each_init_works_in_c11_plus_plus])
