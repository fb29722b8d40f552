#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a target of a meson build folder: a line every few seconds, one at the end.

Usage: build.py [--prefix DIR] [--options "-Dx=y ..."] BUILD TARGET
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import time

EVERY = 4  # seconds between two lines


def configure(build, prefix, options):
    """Options that are given hold from now on."""
    wanted = shlex.split(options) + (["--prefix=" + prefix] if prefix else [])
    if not wanted:
        return
    text = subprocess.run(["meson", "introspect", "--buildoptions", build], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    now = {o["name"]: str(o["value"]).lower() for o in json.loads(text)}
    changed = []
    for word in wanted:
        name, _, value = word.removeprefix("-D").removeprefix("--").partition("=")
        if now.get(name) != value.lower():
            changed.append(word)
    if changed:
        subprocess.run(["meson", "configure", build] + changed, check=True,
                       stdout=subprocess.DEVNULL)


def build(folder, target):
    """0 or ninja's code; and how many steps there were."""
    began = said = time.monotonic()
    steps = "0"
    ninja = subprocess.Popen(["ninja", "-C", folder, target], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace",
                             env=dict(os.environ, NINJA_STATUS="[%f/%t] "))
    for line in ninja.stdout:
        step = re.match(r"\[(\d+)/(\d+)\] ", line)
        if not step:
            if not line.startswith(("ninja: ", "Cleaning...")):
                print(line, end="", flush=True)
            continue
        steps = step.group(2)
        if time.monotonic() - said >= EVERY:
            said = time.monotonic()
            print("building: step %s of %s, %d s" % (step.group(1), steps, said - began),
                  flush=True)
    return ninja.wait(), int(steps), time.monotonic() - began


PRODUCT = (("library", "src/lib/libtcpx-p2p.so and .a", "src/lib/libtcpx-p2p.so"),
           ("tool", "tcpx", "tcpx"),
           ("emulator", "emu/libnccl-net-tcpx-emu.so", "emu/libnccl-net-tcpx-emu.so"),
           ("programs under older names", "compat/", "compat/test_tcpx_perf"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", default="")
    parser.add_argument("--options", default="")
    parser.add_argument("build")
    parser.add_argument("target")
    args = parser.parse_args()
    configure(args.build, args.prefix, args.options)
    code, steps, seconds = build(args.build, args.target)
    if code:
        print("the build failed: see above")
        return code
    print("%s, %d steps in %d s" % ("built" if steps else "up to date", steps, seconds))
    if args.target == "product":
        for what, name, file in PRODUCT:
            if os.path.exists(os.path.join(args.build, file)):
                print("  %s: %s" % (what, os.path.join(args.build, name)))
        print("try: make demo, %s perf --self, make help" % os.path.join(args.build, "tcpx"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
