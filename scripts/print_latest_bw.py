#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums up the latest logs of run_p2p_fullmesh.sh: a line for each GPU and role, with the provider
that carried the bytes and the memory they were in.

usage: print_latest_bw.py [log_dir] [gpus]     (logs, 8)

Exits 1 if a figure is missing."""

import os
import re
import sys

LOG = re.compile(r"fullmesh_(server|client)_gpu(\d+)_(\w+)\.log$")
AVERAGE = re.compile(r"\[PERF\] Avg \((\d+) iter\): ([\d.]+) ms, BW: ([\d.]+) GB/s(.*)")
TIME = re.compile(r"Total time:\s*([\d.]+) ms")
BANDWIDTH = re.compile(r"Bandwidth:\s*([\d.]+) GB/s")


def latest_logs(folder):
    """{(role, gpu): path} of the newest stamp each."""
    found = {}
    for name in sorted(os.listdir(folder)):
        match = LOG.match(name)
        if match:
            key = match.group(1), int(match.group(2))
            if key not in found or match.group(3) >= found[key][0]:
                found[key] = match.group(3), os.path.join(folder, name)
    return {key: path for key, (_, path) in found.items()}


def figures(path):
    """(milliseconds, GB/s, what carried it) of a log, the last it has; None if it has none."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    averages = AVERAGE.findall(text)
    if averages:
        return float(averages[-1][1]), float(averages[-1][2]), averages[-1][3].strip(" ,()")
    times, bandwidths = TIME.findall(text), BANDWIDTH.findall(text)
    if times and bandwidths:
        return float(times[-1]), float(bandwidths[-1]), ""
    return None


def main(argv):
    if len(argv) > 2 or any(word.startswith("-") for word in argv) or \
            (len(argv) == 2 and not argv[1].isdigit()):
        print(__doc__, file=sys.stdout if argv[:1] in (["-h"], ["--help"]) else sys.stderr)
        return 0 if argv[:1] in (["-h"], ["--help"]) else 2
    folder = argv[0] if argv else "logs"
    gpus = int(argv[1]) if len(argv) == 2 else 8
    try:
        logs = latest_logs(folder)
    except OSError as problem:
        print("print_latest_bw.py: %s" % problem, file=sys.stderr)
        return 2
    missing = False
    for role in ("server", "client"):
        total, seen, by = 0.0, 0, set()
        if not any(found == role for found, _ in logs):
            continue
        for gpu in range(gpus):
            found = figures(logs[role, gpu]) if (role, gpu) in logs else None
            if found is None:
                missing = True
                print("%s GPU %d: no figure" % (role, gpu))
                continue
            total += found[1]
            seen += 1
            by.add(re.sub(r"GPU \d+", "GPU", found[2]) or "their logs do not say by what")
            print("%s GPU %d: %.3f ms, %.2f GB/s, %s" % (role, gpu, *found[:2], found[2] or "?"))
        if seen:
            print("%s total: %.2f GB/s, %.2f GB/s a GPU (%s)" % (role, total, total / seen,
                                                                " and ".join(sorted(by))))
    if not logs:
        print("print_latest_bw.py: no fullmesh_<role>_gpu<N>_<time>.log in %s" % folder,
              file=sys.stderr)
    return 1 if missing or not logs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
