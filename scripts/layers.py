#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the layering and the habits of the sources against scripts/layers.txt.

Usage: layers.py [STATIC-LIBRARY...]

Prints each violation as FILE:LINE: what is wrong, and exits 1 if there is any. Given the
layers' static libraries, it also looks at their symbols.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE = (".c", ".cc", ".cpp", ".h")
SCRIPTS = (".py", ".sh", ".build", ".map", ".txt")
# what sanitizers put beside our own symbols
FOREIGN = re.compile(r"__|\.|_?_?sanitizer|asan|tsan|ubsan")


class Rules:
    def __init__(self, path):
        self.folders, self.doors, self.system = {}, {}, {}
        self.only, self.state, self.words = {}, {}, []
        self.prefix, self.guests, self.index, self.tables = {}, {}, [], {}
        self.lines, self.ruled = 500, set()
        for line in open(path):
            key, *rest = line.split("#")[0].split() or [""]
            if key == "folder":
                self.once(key, rest[:1])
                self.folders[rest[0]] = rest
            elif key == "guest":
                self.once(key, rest[:1])
                self.guests[rest[0]] = rest[1:]
            elif key == "door":
                headers, _, guests = " ".join(rest[1:]).partition(" : ")
                self.once(key, headers.split())
                self.doors.setdefault(rest[0], {}).update(
                    (header, guests.split() or [""]) for header in headers.split())
            elif key == "system":
                self.system.setdefault(rest[0], set()).update(rest[1:])
            elif key == "only":
                colon = rest.index(":")
                self.once(key, rest[colon + 1:])
                self.only.update((call, rest[:colon]) for call in rest[colon + 1:])
            elif key == "state":
                names = line.split("  ")[0].split()[2:]
                self.state.setdefault(rest[0], set()).update(names)
            elif key == "prefix":
                self.once(key, rest[:1])
                self.prefix[rest[0]] = ("tcpx_", rest[1])
            elif key == "table":
                pairs = iter(rest[2:])
                self.tables.update((struct, (rest[0], owner)) for struct, owner in zip(pairs, pairs))
            elif key == "index":
                self.index.extend(rest)
            elif key == "lines":
                self.lines = int(rest[0])
            elif key == "word":
                self.words.append(r"\s+".join(rest))
        # a word in small letters is meant in any case
        self.word = re.compile(r"\b(%s)\b" % "|".join(
            "(?i:%s)" % word if word == word.lower() else word for word in self.words))
        self.call = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(self.only))

    def once(self, key, names):
        """Ends with an error if a name has a rule of that kind already."""
        for name in names:
            if (key, name) in self.ruled:
                sys.exit("scripts/layers.txt: %s %s has two rules; one would hide the other"
                         % (key, name))
            self.ruled.add((key, name))


class Report:
    def __init__(self):
        self.count = 0

    def __call__(self, path, line, text):
        self.count += 1
        print("%s:%d: %s" % (path, line, text))


def without_comments_and_strings(text):
    """The same lines with comments and the insides of strings blanked."""
    def blank(match):
        found = match.group(0)
        if found[0] in "\"'":
            return found[0] * 2
        return "\n" * found.count("\n") or " "
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank,
                  text, flags=re.S)


def under(path, folder):
    return not folder or path == folder or path.startswith(folder + "/")


def room(rules, path):
    """The folder of layers.txt that a path below src/ belongs to: the longest."""
    return max((f for f in rules.folders if under(path, f)), key=len, default=None)


def may_include(rules, own, target):
    """A folder named to somebody outside it stands for the rooms in it, too."""
    return target == own or any(
        target == f or (under(target, f) and not under(own, f)) for f in rules.folders[own])


def check_include(rules, report, path, number, name, quoted):
    inside = path[len("src/"):]
    own, target = room(rules, inside), room(rules, name)
    if not quoted:
        allowed = rules.system.get(inside.split("/")[0])
        if allowed is not None and name not in allowed:
            report(path, number, "%s/ may not include <%s>" % (inside.split("/")[0], name))
        return
    if "/" not in name:
        return report(path, number, 'include "%s" by its folder' % name)
    if name.startswith("tcpx/"):
        return
    if not target or not may_include(rules, own, target):
        return report(path, number, "%s/ may not include %s/" % (own, os.path.dirname(name)))
    for folder, doors in rules.doors.items():
        guests = doors.get(name, [])
        if under(name, folder) and not under(inside, folder) and \
                not any(under(inside, guest) for guest in guests):
            report(path, number, '%s is private to %s/, which is entered by %s'
                   % (name, folder, ", ".join(doors)))


def check_layers(rules, report, path, text):
    inside = path[len("src/"):]
    folder, own = os.path.dirname(inside), room(rules, inside)
    if not own or (folder != own and any(under(f, own) and f != own for f in rules.folders)):
        return report(path, 1, "folder %s is not in layers.txt" % folder)
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+([<"])([^>"]+)', line)
        if found:
            check_include(rules, report, path, number, found.group(2), found.group(1) == '"')
    in_function = False
    for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
        if line.startswith("{"):
            in_function = True
        elif line.startswith("}"):
            in_function = False
        elif in_function and re.match(r"\s*#\s*(if|ifdef|ifndef|else|elif)\b", line):
            report(path, number, "#if in a function: let meson.build choose a file")
        for call in rules.call.findall(line) if in_function else []:
            who = rules.only[call]
            if not any(under(inside, one) for one in who):
                report(path, number, "only %s may call %s()" % (", ".join(who), call))


def external(text):
    """The functions that a file defines, and those that it declares, for others."""
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", without_comments_and_strings(text), flags=re.M)
    defined = {name for kind, name in re.findall(r"^([a-z_A-Z][\w \t*]*)\n(\w+)\([^;{]*\)\n{", text, re.M)
               if "static" not in kind.split()}
    declared, depth = set(), 0
    for statement in re.split(r"(?<=[;{}])", text):
        if depth == 0 and statement.endswith(";") and "typedef" not in statement:
            declared.update(re.findall(r"\b(?!aligned\b)([a-z]\w*)\s*\((?!\*)", statement)[:1])
        depth += statement.count("{") - statement.count("}")
    return defined, declared


def public():
    """The library's calls: their header is not beside their .c."""
    if not public.names:
        with open(os.path.join(ROOT, "include/tcpx/tcpx.h"), encoding="utf-8") as header:
            public.names = set(re.findall(r"\b(tcpx_\w+)\(", header.read()))
    return public.names


public.names = None


def check_index(rules, report, path, text):
    """A header is the index of its .c: what one declares, the other defines."""
    if not any(under(path[len("src/"):], folder) for folder in rules.index):
        return
    other = path[:-1] + ("h" if path.endswith("c") else "c")
    there = os.path.join(ROOT, other)
    theirs = external(open(there, encoding="utf-8").read()) if os.path.exists(there) else ((), ())
    for name in sorted(external(text)[0 if path.endswith("c") else 1]):
        if name not in theirs[1 if path.endswith("c") else 0] and name not in public():
            report(path, 1, "%s() is not in %s" % (name, other))


def functions(text):
    """The names of a file's functions, and what stands in each."""
    return {name: body for name, body in re.findall(
        r"^(\w+)\([^;{]*\)\n{\n(.*?)^}", without_comments_and_strings(text), re.M | re.S)}


def check_tables(rules, report, files):
    """Tables by which a room calls upward: filled in by one file, never with a sibling."""
    homes = {name: path[len("src/"):] for path, text in files.items()
             for name in (external(text)[0] if path.endswith(".c") else ())}
    for path, text in files.items():
        own, inside = functions(text), path[len("src/"):]
        text = without_comments_and_strings(text)
        for struct, body in re.findall(r"struct (\w+) \w+ = {(.*?)};", text, re.S):
            if struct not in rules.tables:
                continue
            filler, owner = rules.tables[struct]
            if inside != filler:
                report(path, 1, "struct %s is filled in by %s alone" % (struct, filler))
            for name in re.findall(r"=\s*(\w+)", body):
                called = re.findall(r"\w+(?=\()", own[name]) if name in own else [name]
                for call in called:
                    home = room(rules, homes[call]) if call in homes else None
                    if home and owner not in rules.folders[home][1:]:
                        report(path, 1, "%s(), which struct %s reaches, is not above %s/"
                               % (call, struct, owner))


def check_guest(rules, report, path, text):
    folder = path.split("/")[0]
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if found and not found.group(1).startswith(folder + "/") and \
                found.group(1) not in rules.guests[folder]:
            report(path, number, "%s/ may not include %s" % (folder, found.group(1)))


def check_file(rules, report, path):
    text = open(os.path.join(ROOT, path), encoding="utf-8").read()
    lines = text.splitlines()
    if path.endswith(CODE + SCRIPTS) or path in ("Makefile", ".ci/run"):
        if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
            report(path, 1, "no SPDX line")
    if not path.startswith("scripts/layers.") and path != "LICENSE":
        for number, line in enumerate(lines, 1):
            found = rules.word.search(line)
            if found:
                report(path, number, "'%s' is not to be used" % found.group(0))
    folder = path.split("/")[0]
    ours = ["src", "include", "examples", "compat", *rules.guests]
    if folder in ours and path.endswith(CODE):
        if len(lines) > rules.lines:
            report(path, len(lines), "more than %d lines" % rules.lines)
    if path.startswith("src/") and path.endswith(CODE):
        check_layers(rules, report, path, text)
        check_index(rules, report, path, text)
    if folder in rules.guests and path.endswith(CODE):
        check_guest(rules, report, path, text)


def check_symbols(rules, report, library):
    folder = os.path.basename(library)[3:-2]
    listing = subprocess.run(["nm", "--format=sysv", library], text=True, check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for line in listing.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) < 7 or FOREIGN.match(fields[0]):
            continue
        name, kind, section = re.sub(r"\.\d+$", "", fields[0]), fields[2], fields[6]
        if re.match(r"\.(data|bss|tdata|tbss)\b(?!\.rel\.ro)", section) and \
                kind in "bBdDcC" and name not in rules.state.get(folder, ()):
            report("src/" + folder, 0, "'%s' is a variable that can change" % name)
        prefix = rules.prefix.get(folder, ("tcpx_",))
        if kind in "TDBRCVW" and not name.startswith(prefix):
            report("src/" + folder, 0, "'%s' is external and does not begin with %s"
                   % (name, " or ".join(prefix)))


def sources():
    """Files of the project, what git ignores left out."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if not f.startswith("build")
                            and f not in (".git", "__pycache__"))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if path.endswith(CODE + SCRIPTS + (".md", ".json")) or \
                    path.startswith(("man/", ".ci/")) or path == "Makefile":
                yield path


def main():
    rules, report = Rules(os.path.join(ROOT, "scripts/layers.txt")), Report()
    for path in sources():
        check_file(rules, report, path)
    check_tables(rules, report, {path: open(os.path.join(ROOT, path), encoding="utf-8").read()
                                 for path in sources()
                                 if path.startswith("src/") and path.endswith(CODE)})
    for library in sys.argv[1:]:
        check_symbols(rules, report, library)
    return 1 if report.count else 0


if __name__ == "__main__":
    sys.exit(main())
