#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/emulator.md knows every fault, message and variable of the emulator.
Usage: emulator_test.py SOURCE-ROOT"""
import glob
import os
import re
import sys

import tap

os.chdir(sys.argv[1])
code = "".join(open(path, encoding="utf-8").read() for path in sorted(glob.glob("emu/*.[ch]")))
page = open("docs/emulator.md", encoding="utf-8").read().split("## Row by row")[0]
manual = open("man/libnccl-net-tcpx-emu.7", encoding="utf-8").read().replace("\\-", "-")


def missing(names, text):
    assert names, "nothing was found in emu/"
    absent = sorted(name for name in names if "`%s`" % name not in text)
    assert not absent, "not in docs/emulator.md: " + " ".join(absent)


def every_fault():
    missing(set(re.findall(r'^\tX\([A-Z_]+, "([a-z-]+)"', code, re.M)), page)


def every_message():
    names = set(re.findall(r'emu_(?:refuse|misuse|fatal)\("([a-z-]+)"', code))
    names |= set(re.findall(r'emu_warn\("\[([a-z-]+)\]', code))
    # the page shortens `consume-early`, `-twice`, ...
    text = re.sub(r"`([a-z]+)-([a-z]+)`((?:, `-[a-z]+`)+)", lambda m: "".join(
        "`%s-%s`" % (m.group(1), end) for end in [m.group(2)] + re.findall(r"`-([a-z]+)`",
                                                                        m.group(3))), page)
    missing(names, text)


def every_variable():
    known = re.search(r"known\[\] = \{(.*?)\}", code, re.S).group(1)
    names = {"TCPX_EMU_" + name for name in re.findall(r'"([A-Z_]+)"', known)}
    missing(names, page)
    absent = sorted(name for name in names if name not in manual)
    assert not absent, "not in the manual page: " + " ".join(absent)


tap.run([every_fault, every_message, every_variable])
