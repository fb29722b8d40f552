#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NCCL over its own sockets, default and tuned in two ways, beside NCCL over our plugin, in less than 150 seconds.

    bench/nccl.py --out OUT [--bin build] [--seconds 140] [--cases CASES] [--null] [--raw] [--other FILE]
                  [--gpus 0,0]

Needs two GPUs (or one for both ranks, `--gpus 0,0`: they take turns on it, unless MPS runs), their driver,
NCCL 2.26 or newer, and in build/ nccl_p2p and the plugin. Two processes a side, each a node of its own for
NCCL, over this machine's loopback. Every byte of each operation and size is compared before it is timed. Sides
take turns, one after the other, in rounds. OUT gets nccl.json, nccl.md, and each side's log of NCCL, whose
lines " via NET/..." say which net was used. --null adds a plugin that moves nothing (bench/nccl_null.c): NCCL's
own ceiling, with wrong data and NCCL_PROTO=Simple. --raw adds plain TCP sockets that move the same bytes, without
a GPU (bench/nccl_raw.c): the ceiling of sockets. With either, "ours / ceiling" compares with the lower of the two,
round by round. --other adds another build of our plugin.
"""
import argparse
import glob
import json
import os
import re
import sys
import time

import gpulib
from gpulib import KIB, MIB, Failed, Pair, Programs, size_text

BASE = {"NCCL_P2P_HOSTS": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_SOCKET_IFNAME": "lo",
        "NCCL_IB_DISABLE": "1", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}
SOCKETS = {"NCCL_NET": "Socket", "NCCL_NET_PLUGIN": "none"}
# No set of settings is the best at every size: one has 16 channels for collectives, too.
TUNED_P2P = gpulib.TUNED_UNI
TUNED = dict(TUNED_P2P, NCCL_MIN_NCHANNELS="16", NCCL_MAX_NCHANNELS="16")
CASES = "uni:64M,bi:64M,allreduce:64M,allreduce:1M,allreduce:8,allreduce:4K,pingpong:8,pingpong:4K"
ALL = "allreduce:8,allreduce:4K,uni:16K,uni:64K,uni:1M,uni:2M,uni:4M,uni:64M,uni:1G,bi:64M,bi:1G,alltoall:64M," \
    "alltoall:1G,allreduce:64K,allreduce:256K,allreduce:1M,allreduce:4M,allreduce:16M,allreduce:64M,allreduce:1G," \
    "allgather:64M,allgather:1G,reducescatter:64M,reducescatter:1G"
OPERATIONS = ["uni", "bi", "pingpong", "allreduce", "allgather", "reducescatter", "alltoall"]  # of nccl_p2p
NET = {"default": "NET/Socket", "tuned": "NET/Socket", "tuned-p2p": "NET/Socket", "ours": "NET/tcpx-p2p",
       "other": "NET/tcpx-p2p", "null": "NET/null"}
CEILINGS = ["raw", "null"]  # of sockets, and of NCCL


def parse_cases(text):
    """[("allreduce", 65536)] of "allreduce:64K"; "all" is the first table of docs/results/nccl.md."""
    units = {"K": KIB, "M": MIB, "G": gpulib.GIB, "": 1}
    words = [(word, re.fullmatch(r"(%s):(\d+)([KMG]?)" % "|".join(OPERATIONS), word))
             for word in (ALL if text == "all" else text).split(",")]
    for word, found in words:
        if not found:
            raise argparse.ArgumentTypeError("%r is not OPERATION:SIZE, as allreduce:64K; operations are %s" % (
                word, ", ".join(OPERATIONS)))
    return [(found.group(1), int(found.group(2)) * units[found.group(3)]) for _, found in words]


def sides(programs, null, other):
    plugin = programs.plugin()
    all_sides = {"default": dict(BASE, **SOCKETS), "tuned": dict(BASE, **SOCKETS, **TUNED),
            "tuned-p2p": dict(BASE, **SOCKETS, **TUNED_P2P),
            # by name, as NCCL before 2.26 takes no path
            "ours": dict(BASE, NCCL_NET_PLUGIN="tcpx-p2p", LD_LIBRARY_PATH=":".join(
                filter(None, [os.path.dirname(plugin), os.environ.get("LD_LIBRARY_PATH")])))}
    if other and not os.path.isfile(other):
        sys.exit("--other %s: no such file" % other)
    if other:
        all_sides["other"] = dict(all_sides["ours"], NCCL_NET_PLUGIN=os.path.abspath(other))
    if null:
        all_sides["null"] = dict(BASE, NCCL_NET="null",
                                 NCCL_NET_PLUGIN=programs.plugin("bench/libnccl_null.so"),
                                 NCCL_PROTO="Simple",
                                 # as our plugin on the loopback: 8 devices of 100 Gb/s together
                                 NULL_MBPS="12500", NCCL_P2P_NET_CHUNKSIZE="524288")
    return all_sides


class Bench:
    def __init__(self, programs, until, options):
        self.until = until
        self.cases = options.cases
        self.rows = {}    # (op, size) -> side -> [answer]
        self.failed = {}  # side -> why it takes no more part
        self.pairs = {}
        self.settings = sides(programs, options.null, options.other)
        gpus = options.gpus.split(",")
        self.logs = {}
        for name, settings in self.settings.items():
            self.pairs[name] = Pair(programs, name, settings, gpus, nccl=options.nccl,
                                    cuda=options.cuda)
        if options.raw:
            self.settings["raw"] = {}
            self.pairs["raw"] = Pair(programs, "raw", {}, command=[programs.find("nccl_raw"), str(options.raw)])

    def left(self):
        return self.until - time.monotonic()

    def fail(self, name, why):
        print("%s: %s" % (name, why), file=sys.stderr)
        self.failed[name] = str(why)
        self.pairs[name].kill()

    def start(self):
        for name, pair in self.pairs.items():
            try:
                pair.ready(timeout=max(min(45, self.left() - 60), 5))
                print("%s: NCCL %s, connected in %.1f s" % (name, pair.greeting["nccl"],
                                                            pair.greeting["setup_s"]))
            except Failed as why:
                self.fail(name, why)

    def measure(self, name, op, size):
        pair = self.pairs[name]
        key = (op, size, 1)
        if key not in pair.message_s:  # compares, and says how many make a good sample
            first = pair.ask(op, size, 4 if size >= MIB else 100, 1, timeout=25)
            pair.message_s[key] = max(first["message_us"] / 1e6, 1e-7)
            if first["wrong"] and name != "null":
                raise Failed("%s %s: %d bytes are wrong" % (op, size_text(size), first["wrong"]))
        count = min(max(int(0.15 / pair.message_s[key]), 2), 4000)
        answer = pair.ask(op, size, count, 1, timeout=25)
        pair.message_s[key] = max(answer["message_us"] / 1e6, 1e-7)
        return answer

    def round(self, number):
        for op, size in self.cases:
            names = [n for n in self.pairs if n not in self.failed]
            for name in names[::-1] if number % 2 else names:
                if self.left() < 12:
                    return
                try:
                    answer = self.measure(name, op, size)
                except Failed as why:
                    self.fail(name, why)
                    continue
                self.rows.setdefault((op, size), {}).setdefault(name, []).append(answer)

    def close(self, out):
        for name, pair in self.pairs.items():
            folder = pair.folder.name
            try:
                pair.process.stdin.close()
                pair.process.wait(timeout=max(min(8, self.left()), 1))
            except Exception as why:  # of any kind: the logs are what counts now
                print("%s: it did not end: %s" % (name, why), file=sys.stderr)
            pair.kill()
            text = "".join(open(path, errors="replace").read()
                           for path in sorted(glob.glob(os.path.join(folder, "log.*"))))
            pair.errors.seek(0)
            text += "\n---- standard error ----\n" + pair.errors.read()
            with open(os.path.join(out, "nccl-%s.log" % name), "w", encoding="utf-8") as f:
                f.write(text)
            self.logs[name] = text
            pair.folder.cleanup()


def used(log):
    """{"NET/Socket": 4}: connections by net, and the line that names the net."""
    ways = {}
    for line in log.splitlines():
        if " via " in line:
            way = "/".join(line.split(" via ")[1].split("/")[:2])
            ways[way] = ways.get(way, 0) + 1
    named = next((line.strip() for line in log.splitlines() if "Using network" in line), "")
    return ways, named


def figure(op, size, answers):
    """(median, text): GB/s of large messages, microseconds of small ones."""
    if op == "pingpong":
        us = gpulib.median([a["half_rtt_us"]["p50"] for a in answers])
        return us, "%.1f us" % us
    if size < MIB:
        us = gpulib.median([a["message_us"] for a in answers])
        return us, "%.1f us" % us
    rate = gpulib.median([a["GBps"] for a in answers])
    return rate, "%.2f GB/s" % rate


def ratios(op, size, ours, *others):
    """Of our median of rounds to theirs, in each round to the worst of theirs; above 1 we are better."""
    values = []
    for mine, *theirs in zip(ours, *others):
        x, *y = [figure(op, size, [a])[0] for a in (mine, *theirs)]
        values.append(max(y) / x if op == "pingpong" or size < MIB else x / min(y))
    return gpulib.median(values), gpulib.median_interval(values)


def ratio_text(op, size, got, name):
    beside = [got[n] for n in (CEILINGS if name == "ceiling" else [name]) if n in got]
    if "ours" not in got or not beside:
        return ""
    middle, interval = ratios(op, size, got["ours"], *beside)
    return "%.2f" % middle + (" (%.2f .. %.2f)" % interval if interval else "")


def table(bench):
    names = list(bench.pairs)
    others = [n for n in names if n != "ours"]
    others += ["ceiling"] if set(CEILINGS) & set(names) else []
    lines = ["| operation | size | %s | %s | CPU s/GB %s | rounds |" % (
        " | ".join(names), " | ".join("ours / " + n for n in others), ", ".join(names)),
        "|" + " --- |" * (4 + len(names) + len(others))]
    for op, size in bench.cases:
        got = bench.rows.get((op, size), {})
        cells = [figure(op, size, got[n])[1] if n in got else "" for n in names]
        cpu = ["%.2f" % gpulib.median([a["cpu_s_per_GB"] for a in got[n]])
               if n in got and size >= MIB else "-" for n in names]
        lines.append("| %s | %s | %s | %s | %s | %d |" % (
            op, size_text(size), " | ".join(cells),
            " | ".join(ratio_text(op, size, got, n) for n in others), ", ".join(cpu),
            min((len(v) for v in got.values()), default=0)))
    return lines


def raw_ways(bench):
    """What the raw sockets took for each row."""
    first = [(op, size, got["raw"][0]) for (op, size), got in bench.rows.items() if "raw" in got]
    return "raw: " + "; ".join("%s %s %s by %d connections, threads %s" % (
        op, size_text(size), a["way"], a["connections"], a["threads"]) for op, size, a in first)


def report(bench, out):
    record = {"machine": gpulib.machine(), "sides": bench.settings, "failed": bench.failed,
              "rows": [{"op": op, "size": size, "of": got}
                       for (op, size), got in bench.rows.items()], "used": {}}
    lines = table(bench) + [""]
    bad = False
    for name in bench.pairs:
        bad |= name in bench.failed
        if name in NET:
            nets, named = used(bench.logs.get(name, ""))
            record["used"][name] = {"connections": nets, "line": named}
            right = list(nets) == [NET[name]]
            bad |= not right
            lines.append("%s: %s; %s%s" % (name, named or "no line \"Using network\"", nets,
                                           "" if right else " NOT THE NET THAT WAS MEANT"))
        else:
            lines.append(raw_ways(bench))
        if name in bench.failed:
            lines.append("%s FAILED: %s" % (name, bench.failed[name]))
    text = "\n".join(lines) + "\n"
    print(text)
    with open(os.path.join(out, "nccl.json"), "w", encoding="utf-8") as f:
        json.dump(record, f, indent=1)
    with open(os.path.join(out, "nccl.md"), "w", encoding="utf-8") as f:
        f.write(text)
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--bin", default=os.path.join(gpulib.ROOT, "build"))
    parser.add_argument("--cases", type=parse_cases, default=CASES, help="OPERATION:SIZE,... (%%(default)s), or all: the "
                        "rows of docs/results/nccl.md; operations are %s" % ", ".join(OPERATIONS))
    parser.add_argument("--seconds", type=float, default=140)
    parser.add_argument("--gpus", default="0,1", help="of the two ranks (0,1)")
    parser.add_argument("--other", help="path of another build of our plugin")
    parser.add_argument("--nccl", help="path of libnccl.so.2")
    parser.add_argument("--cuda", help="path of libcuda.so.1")
    parser.add_argument("--null", action="store_true", help="NCCL's ceiling, too")
    parser.add_argument("--raw", type=int, nargs="?", const=16, metavar="CONNECTIONS",
                        help="plain sockets, too, up to so many each way (16)")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    programs = Programs(options.bin)
    bench = Bench(programs, time.monotonic() + options.seconds, options)
    try:
        bench.start()
        number = 0
        while bench.left() > 20 and number < 9 and len(bench.failed) < len(bench.pairs):
            bench.round(number)
            number += 1
    finally:
        bench.close(options.out)
    return report(bench, options.out)


if __name__ == "__main__":
    sys.exit(main())
