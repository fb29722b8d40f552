#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a message of a lane costs: beside one of send and receive, with a secret, beside raw sockets.

    bench/lanes.py [--pairs 11]

Two `tcpx perf --self` in turn, the first of a pair alternating, on the loopback; every timed message
is compared. Ratios are medians of pairs, with the interval that holds them at 95 % or more.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from gpulib import trouble

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TCPX = os.environ.get("TCPX", os.path.join(ROOT, "build", "tcpx"))
LANE, SEND = ["--op", "lane"], ["--op", "sendrecv"]


def perf(args, env=None):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([TCPX, "perf", "--self", "--json", out.name] + args, text=True,
                              env=dict(os.environ, **(env or {})), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=300)
        if done.returncode:
            sys.exit("failed: %s\n%s" % (" ".join(args), done.stderr))
        rows = json.load(open(out.name))["rows"]
    if trouble(rows, args):
        sys.exit("%s: %s" % (trouble(rows, args), " ".join(args)))
    return rows[0]


def interval(ratios):
    """The median, and the ranks around it by the sign test."""
    x, n = sorted(ratios), len(ratios)
    p, total, k = 0.5 ** n, 0.5 ** n, 0
    while total <= 0.025 and k < n // 2:
        k += 1
        p = p * (n - k + 1) / k
        total += p
    k = max(k - 1, 0)
    return "%.2f (%.2f to %.2f)" % (statistics.median(x), x[k], x[n - 1 - k])


def beside(what, pairs, first, other):
    """A row: rate and CPU of the first side to the other's; a side is arguments and environment."""
    rows = []
    for i in range(pairs):
        both = [None, None]
        for k in (i % 2, 1 - i % 2):
            both[k] = perf(*(first, other)[k])
        rows.append(both)

    def us(row):
        return row["cpu_s_per_GB"] * row["size"] / 1e3

    def median(of, side):
        return statistics.median(of(r[side]) for r in rows)

    def ratio(of):
        return interval([of(r[0]) / of(r[1]) for r in rows])

    def rate(row):
        return row["algbw_GBps"]

    print("| %s | %.2f | %.2f | %s | %.1f | %.1f | %s |" % (
        what, median(rate, 0), median(rate, 1), ratio(rate), median(us, 0), median(us, 1),
        ratio(us)), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--pairs", type=int, default=11)
    pairs = p.parse_args().pairs
    head = "| %s | GB/s | beside | rate | CPU us a message | beside | CPU |\n|" + " --- |" * 7
    print(head % "lane beside send and receive: size, in flight")
    for size, depth in (("8", 1), ("8", 32), ("4K", 1), ("4K", 32), ("64K", 1), ("64K", 8),
                        ("64K", 32), ("512K", 8)):
        shape = ["-b", size, "--depth", str(depth)]
        beside("%s, %d" % (size, depth), pairs, (LANE + shape,), (SEND + shape,))
    with tempfile.TemporaryDirectory() as folder:
        secret = {"TCPX_SECRET_FILE": os.path.join(folder, "secret")}
        with open(secret["TCPX_SECRET_FILE"], "w") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write("of this measurement, and of nothing else\n")
        print("\n" + head % "lane with a secret beside one without: size, in flight")
        for size, depth in (("4K", 32), ("64K", 8), ("64K", 32), ("512K", 8)):
            shape = LANE + ["-b", size, "--depth", str(depth)]
            beside("%s, %d" % (size, depth), pairs, (shape, secret), (shape,))
    print("\n| lanes beside raw sockets: size, in flight, lanes | GB/s | to raw sockets |\n| --- | --- | --- |")
    for size, depth, lanes in (("64K", 32, 4), ("512K", 8, 1), ("512K", 8, 4), ("512K", 32, 4)):
        row = perf(LANE + ["-b", size, "--depth", str(depth), "--lanes", str(lanes), "--baseline",
                           "--pairs", str(pairs)])
        print("| %s, %d, %d | %.2f | %s |" % (size, depth, lanes, row["algbw_GBps"],
                                              interval([q["ratio"] for q in row["pairs"]])), flush=True)


if __name__ == "__main__":
    main()
