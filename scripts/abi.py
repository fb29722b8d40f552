#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library's binary interface as lines of text, from the public headers, the linker map and
what the compiler says of sizes and values; compared with the one on record, src/lib/tcpx.abi.

Usage: abi.py [--record] [SOURCE-ROOT]
Gone or changed lines are printed, and the exit status is 1. New lines are printed as a note;
--record writes them down, and refuses where something is gone or changed.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HEADERS = ("tcpx/tcpx.h", "tcpx/err.h", "tcpx/version.h")
RECORD = "src/lib/tcpx.abi"
NOT_VALUES = r"TCPX_(H|ERR_H|API|MUST_USE|VERSION_\w+|\w+_INIT)$"
COMPILER = os.environ.get("CC", "cc").split()


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def plain(text):
    """One line without comments."""
    return " ".join(re.sub(r"/\*.*?\*/", " ", text, flags=re.S).split())


def parameter(text):
    """Its type: names may change."""
    text = re.sub(r"\b(\w+)((\[\w*\])*)$", r"\2", text) if " " in text else text
    return text.replace(" *", "*").strip()


def calls(header):
    text = plain(re.sub(r"^\s*#.*$", "", header, flags=re.M))
    for result, name, args in re.findall(
            r"\bTCPX_API (?:TCPX_MUST_USE )?([^;(]*?)\b(tcpx_\w+) ?\(([^;]*)\)", text):
        yield name, "%s(%s)" % (result.replace(" *", "*").strip(),
                                ", ".join(parameter(one.strip()) for one in args.split(",")))


def types(header):
    """Of functions that the caller gives."""
    for result, name, args in re.findall(r"\btypedef ([\w *]+)\(\*(\w+)\)\(([^)]*)\);",
                                         plain(header)):
        yield name, "%s(%s)" % (result.strip(), ", ".join(map(parameter, args.split(", "))))


def symbols(linker_map):
    text = re.sub(r"/\*.*?\*/", "", linker_map, flags=re.S)
    for version, body in re.findall(r"(TCPX_\S+) \{(.*?)\};?", text, re.S):
        for name in re.findall(r"\b(tcpx_\w+);", body):
            yield name, version


def structs(header):
    """(name, members); members that are functions, too."""
    for name, body in re.findall(r"\bstruct (\w+) \{(.*?)\};", plain(header)):
        members = [m.group(1) or m.group(2) for m in re.finditer(
            r"\(\*(\w+)\)\([^)]*\)\s*;|\b(\w+)(?:\[\w+\])*\s*(?=[,;])", body)]
        yield name, members


def growing(header):
    """Structs that may grow at their end: they carry their size, or a call has it."""
    named = {name for name, members in structs(header) if members[0] == "struct_size"}
    return named | set(re.findall(r"struct (\w+) \*\w+, size_t stride", plain(header)))


def values(header):
    yield from (name for name in re.findall(r"^#define (TCPX_\w+)[ \t]+\S", header, re.M)
                if not re.match(NOT_VALUES, name))
    for body in re.findall(r"\benum(?: \w+)? \{(.*?)\}", plain(header)):
        yield from re.findall(r"\bTCPX_\w+", body)


def measured(root, header):
    """Lines of sizes, places and values, printed by a program."""
    said = []
    for name, members in structs(header):
        said.append('printf("struct %s %%zu\\n", sizeof(struct %s));' % (name, name))
        said += ['printf("member %s.%s %%zu %%zu\\n", offsetof(struct %s, %s), '
                 'sizeof(((struct %s *)0)->%s));' % ((name, one) * 3) for one in members]
    said += ['printf("value %s %%lld\\n", (long long)%s);' % (name, name)
             for name in dict.fromkeys(values(header))]
    source = "".join('#include "%s"\n' % name for name in HEADERS) + \
        "#include <stdio.h>\nint main(void) {\n%s\nreturn 0; }\n" % "\n".join(said)
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "sizes")
        subprocess.run(COMPILER + ["-x", "c", "-I", os.path.join(root, "include"), "-o", program,
                                   "-"], input=source, text=True, check=True)
        return subprocess.run([program], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.splitlines()


def lines(root):
    header = "".join(read(root, "include", name) for name in HEADERS)
    versions = dict(symbols(read(root, "src/lib/tcpx.map")))
    return ["call %s %s %s" % (name, versions.get(name, "unversioned"), form)
            for name, form in calls(header)] + \
        ["type %s %s" % one for one in types(header)] + measured(root, header), growing(header)


def compare(recorded, now, grows):
    """(what breaks programs built against the record, what is new), as sentences."""
    def key(line):
        return tuple(line.split()[:2])
    old, new = {key(line): line for line in recorded}, {key(line): line for line in now}
    bad = ["gone: " + line for at, line in old.items() if at not in new]
    added = []
    for at, line in new.items():
        name, _, member = at[1].partition(".")
        size = int(old.get(("struct", name), "- - 0").split()[2])
        if at not in old:
            # in the padding of a struct of unchanged size nobody could tell whether it is there
            inside = member and size and (name not in grows or int(line.split()[2]) < size)
            (bad if inside else added).append(
                ("not behind the end of a struct that grows: " if inside else "new: ") + line)
        elif line != old[at]:
            grown = at[0] == "struct" and name in grows and int(line.split()[2]) > size
            (added if grown else bad).append("%s: %s\n  on record: %s" % (
                "grown" if grown else "changed", line, old[at]))
    return bad, added


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("root", nargs="?", default=".")
    args = parser.parse_args()
    now, grows = lines(args.root)
    record = os.path.join(args.root, RECORD)
    bad, added = compare([line for line in read(record).splitlines() if line[0] != "#"]
                         if os.path.exists(record) else [], now, grows)
    if bad:
        print("\n".join(bad))
        print("programs built against %s would break: keep what was there, or begin a new "
              "library name (soversion)" % RECORD)
        return 1
    if args.record:
        with open(record, "w", encoding="utf-8") as f:
            f.write("# The binary interface on record, for 64-bit machines; scripts/abi.py "
                    "--record writes it.\n")
            f.write("".join(line + "\n" for line in now))
    elif added:
        print("\n".join(added))
        print("new names are fine; record them with the release: scripts/abi.py --record")
    return 0


if __name__ == "__main__":
    sys.exit(main())
