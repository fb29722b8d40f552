#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line that a program begins with [ERROR] or [WARN] is known to tcpx doctor --explain, and
the page of failures promises no command that does not exist.
Usage: errors_test.py SOURCE-ROOT TOOL UNEXPLAINED"""
import functools
import glob
import os
import re
import subprocess
import sys

import tap

tool, unexplained = map(os.path.abspath, sys.argv[2:])
os.chdir(sys.argv[1])
# One code stands for all: the unit test has each by name and words.
code = re.search(r'ERR\((TCPX_ELIMIT), "([^"]+)"\)', open("src/base/err.c", encoding="utf-8").read())

# In C: strings one after the other, names of formats (PRIu64) between them. In scripts: to the
# end of the string, or of the line of a here-document.
c_string = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
c_format = re.compile(r'"\[(?:ERROR|WARN)\](?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)*"(?:[^"\\\n]|\\.)*")*')
script_line = re.compile(r'\[(?:ERROR|WARN)\][^"\'\n]*')


# What the tool's perf and serve say for people, the older programs print behind [ERROR].
said = re.compile(r'tool_fail\([^",]+,\s*(?:"tcpx \w+"|\w+),\s*((?:"(?:[^"\\\n]|\\.)*"|PRI\w+|\s)+)')
# And what it says of its options.
usage = re.compile(r'tool_usage\([^",]+,\s*((?:"(?:[^"\\\n]|\\.)*"|PRI\w+|\s)+)')


def formats():
    for path in sorted(glob.glob("src/**/*.c", recursive=True) + glob.glob("compat/**/*.c",
                       recursive=True) + glob.glob("emu/**/*.c", recursive=True)):
        text = re.sub(r"(PRI\w+)", r" \1 ", open(path, encoding="utf-8").read())
        for found in c_format.finditer(text):
            between = re.sub(r'"\s*PRI\w+\s*"', "d", found.group())
            yield path, "".join(c_string.findall(between)).replace("\\n", "").replace("\\", "")
    for path in sorted(glob.glob("src/measure/perf/*.c")):
        for found in said.finditer(open(path, encoding="utf-8").read()):
            text = re.sub(r"PRI\w+", '"d"', found.group(1))
            yield path, "[ERROR] " + "".join(c_string.findall(text))
    for path in ["src/tool/opt.c"] + sorted(glob.glob("src/measure/perf/*.c")):
        for found in usage.finditer(open(path, encoding="utf-8").read()):
            text = "".join(c_string.findall(re.sub(r"PRI\w+", '"d"', found.group(1))))
            if text.strip() and text != "%s":
                yield path, "[ERROR] " + text
    for path in sorted(glob.glob("compat/*.sh") + glob.glob("scripts/*.sh")):
        for line in open(path, encoding="utf-8"):
            if "grep" not in line and not line.lstrip().startswith("#"):
                for found in script_line.findall(line):
                    yield path, re.sub(r"\$\{?\w+\}?", "x", found)


# The unit test looks for the explanation of each name.
def every_code_that_a_message_ends_in_has_a_name():
    named = set(re.findall(r"\b(?:SYS|ERR)\((\w+),", open("src/base/err.c", encoding="utf-8").read()))
    named |= {"ENOTSUP"}  # the same number as EOPNOTSUPP
    used, unnamed = set(), []
    for path in sorted(glob.glob("src/**/*.c", recursive=True)):
        text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
        codes = set(re.findall(r"-(E[A-Z0-9]{2,})\b", text)) - {"ERRNOS"}
        used |= codes
        unnamed += ["%s: %s has no name in src/base/err.c" % (path, name)
                    for name in sorted(codes - named)]
    assert len(used) > 30 and not unnamed, "\n".join(unnamed)


def line_of(form):
    """What is printed by that format; where it has "TEXT (NAME)", or ends with ": TEXT", of a code."""
    form = form.replace("%s (%s)", "%s (%s)" % (code.group(2), code.group(1)))
    form = re.sub(r": %s$", ": " + code.group(2), form)
    return re.sub(r"%[-+ #0]*\d*(\.\d+)?[hlzjt]*[a-zA-Z]", "1", form).replace("%%", "%")


def every_line_of_an_error_is_explained():
    found = [(path, line_of(form)) for path, form in formats()]
    assert len(found) > 20, "no line of an error found in the sources"
    done = subprocess.run([unexplained], input="".join(line + "\n" for path, line in found), text=True,
                          stdout=subprocess.PIPE, check=True)
    unknown = set(done.stdout.splitlines())
    assert not unknown, ("tcpx doctor --explain does not know, see docs/errors.md:\n" +
                         "\n".join("%s: %s" % one for one in found if one[1] in unknown))


@functools.cache
def help_of(*verbs):
    return tap.succeeds(tool, *verbs, "--help")


def commands_of_the_page_exist():
    page = open("docs/errors.md", encoding="utf-8").read()
    commands = sorted(set(re.findall(r"^    (tcpx [^\n|]*)", page, re.M)))
    assert commands, "no command on the page"
    for command in commands:
        words = command.split(" -- ")[0].split()[1:]
        verbs = [word for word in words if re.fullmatch("[a-z]+", word)]
        options = [word for word in words if word.startswith("--")]
        known = help_of(*verbs)
        for option in options:
            assert option == "--version" or option in known, command


tap.run([every_line_of_an_error_is_explained, commands_of_the_page_exist,
         every_code_that_a_message_ends_in_has_a_name])
