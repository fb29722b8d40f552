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
CODE = (".c", ".h")
SCRIPTS = (".py", ".sh", ".build", ".map", ".txt")
# what sanitizers put beside our own symbols
FOREIGN = re.compile(r"__|\.|_?_?sanitizer|asan|tsan|ubsan")


class Rules:
    def __init__(self, path):
        self.folders, self.doors, self.system = {}, {}, {}
        self.only, self.state, self.longer, self.words = {}, {}, {}, []
        self.prefix, self.guests = {}, {}
        self.lines = 500
        for line in open(path):
            key, *rest = line.split("#")[0].split() or [""]
            if key == "folder":
                self.folders[rest[0]] = rest
            elif key == "guest":
                self.guests[rest[0]] = rest[1:]
            elif key == "door":
                self.doors.setdefault(rest[0], []).extend(rest[1:])
            elif key == "system":
                self.system.setdefault(rest[0], set()).update(rest[1:])
            elif key == "only":
                colon = rest.index(":")
                self.only.update((call, rest[:colon]) for call in rest[colon + 1:])
            elif key == "state":
                names = line.split("  ")[0].split()[2:]
                self.state.setdefault(rest[0], set()).update(names)
            elif key == "prefix":
                self.prefix[rest[0]] = ("tcpx_", rest[1])
            elif key == "lines":
                self.lines = int(rest[0])
            elif key == "longer":
                self.longer[rest[0]] = " ".join(rest[1:])
            elif key == "word":
                self.words.append(r"\s+".join(rest))
        # a word in small letters is meant in any case
        self.word = re.compile(r"\b(%s)\b" % "|".join(
            "(?i:%s)" % word if word == word.lower() else word for word in self.words))
        self.call = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(self.only))


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


def check_include(rules, report, path, number, name, quoted):
    folder = path.split("/")[1]
    if not quoted:
        allowed = rules.system.get(folder)
        if allowed is not None and name not in allowed:
            report(path, number, "%s/ may not include <%s>" % (folder, name))
        return
    target = name.split("/")[0]
    if "/" not in name:
        report(path, number, 'include "%s" by its folder' % name)
    elif target == "tcpx":
        pass
    elif target not in rules.folders[folder]:
        report(path, number, "%s/ may not include %s/" % (folder, target))
    elif target != folder and name not in rules.doors.get(target, [name]):
        report(path, number, '%s is private to %s/, which is entered by %s'
               % (name, target, ", ".join(rules.doors[target])))


def check_layers(rules, report, path, text):
    folder = path.split("/")[1]
    if folder not in rules.folders:
        return report(path, 1, "folder %s is not in layers.txt" % folder)
    inside = "/".join(path.split("/")[1:])
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
            if folder not in who and inside not in who:
                report(path, number, "only %s may call %s()" % (", ".join(who), call))


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
        if len(lines) > rules.lines and path not in rules.longer:
            report(path, len(lines), "more than %d lines" % rules.lines)
    if path.startswith("src/") and path.endswith(CODE):
        check_layers(rules, report, path, text)
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
    for library in sys.argv[1:]:
        check_symbols(rules, report, library)
    return 1 if report.count else 0


if __name__ == "__main__":
    sys.exit(main())
