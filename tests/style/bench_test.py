#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scripts of bench take no figure of bytes that nobody compared. Usage: bench_test.py SOURCE_ROOT"""
import os
import sys

import tap

sys.path.insert(0, os.path.join(sys.argv[1], "bench"))
import gpulib  # noqa: E402 (its folder is known only now)

ALL = {"wrong": 0, "checked": True, "compared": 1}
PART = {"wrong": 0, "checked": False, "compared": 0.1}
NONE = {"wrong": 0, "checked": False}
ZERO = {"wrong": 0, "checked": False, "compared": 0}


def what_was_compared_counts():
    assert gpulib.trouble([ALL, ALL], ["-b", "64M"]) == ""
    assert gpulib.trouble([dict(ALL, baseline_wrong=0)], ["--baseline"]) == ""


def what_was_not_compared_does_not_count():
    for rows in ([], [NONE], [ZERO], [PART], [ALL, NONE]):
        assert gpulib.trouble(rows, ["-b", "64M"]), rows


def a_part_counts_by_the_clock_and_of_latency():
    for words in (["--duration", "1"], ["--lat"]):
        assert gpulib.trouble([PART], words) == ""
        for rows in ([NONE], [ZERO], [PART, ZERO]):
            assert gpulib.trouble(rows, words), (rows, words)


def a_wrong_byte_is_told():
    assert gpulib.trouble([dict(ALL, wrong=2)], []) == "2 wrong bytes"
    assert gpulib.trouble([dict(ALL, baseline_wrong=3)], []) == "3 wrong bytes"


def runs_beside_others_need_not_compare():
    assert gpulib.uncompared([NONE], ["-c", "0"]) == ""
    assert gpulib.uncompared([dict(ALL, wrong=2)], []) == ""  # counted in its table


tap.run([what_was_compared_counts, what_was_not_compared_does_not_count,
         a_part_counts_by_the_clock_and_of_latency, a_wrong_byte_is_told,
         runs_beside_others_need_not_compare])
