#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# usage: corrupt.py PID BYTES SECONDS
# Keeps one byte in the middle of a process's smallest private mapping of at least BYTES
# at 0x5a, like memory that does not keep its content.
import os
import sys
import time


def mapping(pid, least):
    found = []
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        for line in maps:
            places, rights = line.split()[:2]
            start, end = (int(v, 16) for v in places.split("-"))
            if rights == "rw-p" and end - start >= least:
                found.append((end - start, start))
    return min(found, default=(0, 0))


until = time.monotonic() + float(sys.argv[3])
fd = os.open(f"/proc/{sys.argv[1]}/mem", os.O_WRONLY)
while time.monotonic() < until:
    try:
        size, start = mapping(sys.argv[1], int(sys.argv[2]))
        for _ in range(10000):
            os.pwrite(fd, b"\x5a", start + size // 2)
    except OSError:
        pass  # the mapping or the process went away
