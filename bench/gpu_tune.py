#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries combinations of settings with short runs and prints them, best first.

    bench/gpu_tune.py                                   the usual grid
    bench/gpu_tune.py --set TCPX_CHUNK=512K,1M,2M       one setting, the others as they are

For choosing defaults: a combination that looks good here is worth a run of gpu.py.
"""
import argparse
import itertools
import json
import os
import random
import sys
import time

import gpulib
from gpulib import Failed, median

GRID = ["TCPX_THREADS=4,8,12,16", "TCPX_CHANNELS=4,8,12,16", "TCPX_CHUNK=512K,1M",
        "TCPX_ZEROCOPY=off,splice"]


def combinations(sets, dirs):
    names = [s.split("=", 1)[0] for s in sets]
    values = [s.split("=", 1)[1].split(",") for s in sets]
    return [(d, tuple(zip(names, v))) for v in itertools.product(*values) for d in dirs]


def useful(combination):
    """More threads than channels have nothing to do."""
    settings = dict(combination[1])
    try:
        return int(settings["TCPX_THREADS"]) <= int(settings["TCPX_CHANNELS"])
    except (KeyError, ValueError):
        return True


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default=os.path.join(gpulib.ROOT, "build"), help="where tcpx lies")
    p.add_argument("--set", action="append", metavar="NAME=A,B,C", help="a setting to try")
    p.add_argument("--dir", default="uni,bi")
    p.add_argument("--size", default="256M")
    p.add_argument("--depth", default="4")
    p.add_argument("--iters", default="32", help="timed transfers of a run")
    p.add_argument("--lat", action="store_true", help="half round trips of --size instead")
    p.add_argument("--rounds", type=int, default=3, help="runs of each, if the time allows")
    p.add_argument("--budget", type=float, default=500, help="seconds")
    p.add_argument("--json", help="file for all values")
    p.add_argument("--host", action="store_true", help="host memory: to try this")
    args = p.parse_args()

    tcpx = gpulib.Tcpx(gpulib.Programs(args.bin), *gpulib.places(args.host))
    sets = args.set or GRID
    tries = combinations(sets, ["uni"] if args.lat else args.dir.split(","))
    tries = [c for c in tries if useful(c)]
    got, failed = {}, {}
    end = time.monotonic() + args.budget
    for turn in range(args.rounds):
        random.Random(turn).shuffle(tries)  # a drift of the machine hits no corner of the grid
        for c in tries:
            if time.monotonic() > end:
                break
            run = ["-b", args.size, "-e", args.size, "-n", args.iters, "-w", "2", "-c", "0"]
            run += ["--lat"] if args.lat else ["--depth", args.depth, "--dir", c[0]]
            try:
                row = tcpx.perf(run, c[1], timeout=30)[-1]
                got.setdefault(c, []).append(
                    (row["half_rtt_us"]["p50"] if args.lat else row["algbw_GBps"],
                     row["cpu_s_per_GB"]))
            except Failed as e:
                failed[c] = str(e)[-160:]
        print("round %d: %d of %d combinations" % (turn + 1, len(got), len(tries)),
              file=sys.stderr, flush=True)

    names = [s.split("=", 1)[0].replace("TCPX_", "").lower() for s in sets]
    for way in dict.fromkeys(c[0] for c in tries):
        rows = sorted(((median([v[0] for v in got[c]]), c) for c in got if c[0] == way),
                      reverse=not args.lat)
        print("\n%s, %s\n%s" % (args.size, "us" if args.lat else way, "  ".join(
            ["%8s" % n for n in names] + ["  median", "     min", "     max", "cpu s/GB", "runs"])))
        for value, c in rows:
            v = [x[0] for x in got[c]]
            print("  ".join(["%8s" % x[1] for x in c[1]] + ["%8.2f" % x for x in (
                value, min(v), max(v), median([x[1] for x in got[c]]))] + ["%4d" % len(v)]))
    for c, why in failed.items():
        print("failed: %s %s: %s" % (c[0], " ".join("%s=%s" % s for s in c[1]), why))
    if args.json:
        with open(args.json, "w") as f:
            json.dump([{"dir": c[0], "settings": dict(c[1]), "values": v}
                       for c, v in got.items()], f, indent=1)


if __name__ == "__main__":
    main()
