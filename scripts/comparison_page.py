#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/results/comparison.md from the result files beside it and comparison.json.

Usage: comparison_page.py RESULTS-FOLDER OUTPUT.md    (- for stdout)

A ratio is copied from the file that measured both sides in one run; none is made here.
"""
import json
import os
import re
import sys
import textwrap

# Rows of gpu.md beside NCCL, as it is and tuned: what a row is called there.
GPU = ["one way, 1 GiB queued", "one way, 64 MiB queued", "sweep, one way, 1 MiB queued",
       "sweep, one way, 64 KiB queued", "both ways at once, 256 MiB queued, each way",
       "CPU of both ends, one way, 256 MiB", "half a round trip, 4 KiB", "half a round trip, 1 MiB",
       "half a round trip, 16 MiB", "4 KiB messages queued, time of one"]
MEMBERS = ["who", "what", "figure", "setting"]
CITED = MEMBERS + ["source", "url", "date"]


def fail(path, lacks):
    sys.exit("%s: no %s in it" % (path, lacks))


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


def rows(text):
    """Cells of all lines of tables."""
    return [[cell.strip() for cell in line.strip()[1:-1].split("|")]
            for line in text.splitlines() if line.startswith("|")]


def line(text, pattern, path):
    """The words that the pattern's group has found, on one line."""
    found = re.search(pattern, text, re.M | re.S)
    if not found:
        fail(path, pattern)
    return " ".join(found.group(1).split())


def prose(text):
    return textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False) + [""]


def listed(folder, name, members):
    """What comparison.json has under a name. Each has all of the members; a date may be empty."""
    found = json.loads(read(folder, "comparison.json"))[name]
    for one in found:
        if sorted(one) != sorted(members) or not all(one[m] for m in members if m != "date"):
            fail("comparison.json", "%s, none empty, of %s" % (members, one.get("who")))
    return found


def table(head, body):
    return ["| %s |" % " | ".join(cells) for cells in [head, ["---"] * len(head)] + body] + [""]


def beside_nccl(folder):
    text = read(folder, "gpu.md")
    measured = rows(text)
    body = []
    for what in GPU:
        found = [[what, r[1], "NCCL " + r[2].split(" ", 1)[0], r[2].split(" ", 1)[1], r[3], r[4]]
                 for r in measured
                 if r[0] == what and re.match(r"(default|tuned) [\d.]+ \S+$", r[2])]
        if not found:
            fail("gpu.md", what)
        body += sorted(found, key=lambda r: r[2])
    return ["## NCCL's sockets", ""] + \
        prose("Setting: two GPUs of one machine over its loopback interface; %s. %s. Measured in turns, "
              "%s, version %s, no wrong byte in the rounds compared (of ours the first). Source: "
              "[gpu.md](gpu.md), which has all sizes and the misses. A ratio above 1 is for us where it is of "
              "speeds or of messages queued, one below 1 where it is of CPU or of half a round trip."
              % (line(text, r"^Machine: (.*?)\. Date", "gpu.md"),
                 line(text, r"(NCCL [\d.]+ is kept off NVLink .*? \(32 channels both ways\))", "gpu.md"),
                 line(text, r"Date: ([\d-]+)\.", "gpu.md"), line(text, r"Version: (\w+)\.", "gpu.md"))) + \
        table(["what", "tcpx-p2p", "beside", "figure", "ratio", "95 %"], body) + \
        prose("NCCL differs from machine to machine. On others of this kind it was measured earlier, "
              "without this library beside it; no result files are kept, so there are no ratios:") + \
        table(["who", "what", "figure", "setting"],
              [[o[m] for m in MEMBERS] for o in listed(folder, "machines", MEMBERS)])


def beside_ucx(folder):
    text = read(folder, "nixl.md")
    body = [[r[0], r[1], r[2], r[3]] for r in rows(text)
            if len(r) == 5 and re.match(r"(READ|WRITE) ", r[0])]
    if len(body) < 2:
        fail("nixl.md", "row of READ or WRITE")
    return ["## UCX over TCP, tuned", ""] + \
        prose("Setting: %s; both ends on it, veth in a network namespace. %s, the NIXL plugin of this "
              "library and %s in turns, host memory. Measured %s, version of %s. Median and range. Source: "
              "[nixl.md](nixl.md)."
              % (line(text, r"^Machine: (.*?)\. Date", "nixl.md"),
                 line(text, r"^(nixlbench \(.*?\))", "nixl.md"),
                 line(text, r"and (UCX .*?KiB)", "nixl.md"), line(text, r"Date: ([\d-]+)", "nixl.md"),
                 line(text, r"version\s+of (\w+)", "nixl.md"))) + \
        table(["what", "NIXL plugin, GB/s", "UCX tuned, GB/s", "times"], body)


def published(folder):
    return ["## Published by others", ""] + \
        prose("None of this was measured here. Hosts, NICs, memory and tests differ from ours and from "
              "each other, so no ratio is made of it: GPUs of two hosts over NICs are not two GPUs of one "
              "host over its loopback interface, and bus bandwidth of a collective is not that of a "
              "transfer. This library has not been measured on such hosts "
              "([hardware-day.md](../../deploy/hardware-day.md)). Kept in [comparison.json](comparison.json).") + \
        table(["who", "what", "figure", "setting", "source"],
              [[o[m] for m in MEMBERS] +
               ["[%s](%s)%s" % (o["source"], o["url"], o["date"] and ", " + o["date"])]
               for o in listed(folder, "published", CITED)])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, output = sys.argv[1:]
    text = "\n".join(
        ["# comparison", ""] +
        prose("This library beside others that move memory over TCP: each figure with its setting and "
              "source. Written by `scripts/comparison_page.py docs/results docs/results/comparison.md`, and "
              "compared with its sources by `make check`. A ratio stands only where both sides were "
              "measured in one run.") +
        beside_nccl(folder) + beside_ucx(folder) + published(folder)).rstrip("\n") + "\n"
    if output == "-":
        sys.stdout.write(text)
    else:
        with open(output, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
