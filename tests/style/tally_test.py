#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/tally.py hides nothing: no failure, no skip, no test that nobody ran.
Usage: tally_test.py SOURCE-ROOT"""
import json
import os
import subprocess
import sys
import tempfile

import tap

TALLY = os.path.join(sys.argv[1], "scripts/tally.py")


def tallied(builds, steps=""):
    """Its exit status and lines. @builds: of each, what is registered, and (name, result, output) of what ran."""
    with tempfile.TemporaryDirectory() as place:
        logs = []
        for number, (names, ran) in enumerate(builds):
            build = os.path.join(place, str(number))
            os.makedirs(build + "/meson-info")
            os.makedirs(build + "/meson-logs")
            logs.append("%s/meson-logs/log%d.json" % (build, number))
            with open(build + "/meson-info/intro-tests.json", "w", encoding="utf-8") as f:
                json.dump([{"name": name} for name in names], f)
            with open(logs[-1], "w", encoding="utf-8") as f:
                for name, result, output in ran:
                    json.dump({"name": "tcpx-p2p:unit+tsan / " + name, "result": result,
                               "stdout": output}, f)
                    f.write("\n")
        with open(place + "/steps", "w", encoding="utf-8") as f:
            f.write(steps)
        done = subprocess.run([sys.executable, TALLY, place + "/steps", *logs], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout.replace(place + "/", "").splitlines()


def all_that_passes_is_counted():
    assert tallied([(["a"], [("a", "OK", "")])], "ok - sim\n") == (0, ["2 passed, 0 failed, 0 skipped"])
    status, lines = tallied([(["a"], [("a", "ERROR", "why\n")])])
    assert status == 1 and lines[-1] == "0 passed, 1 failed, 0 skipped", "\n".join(lines)


def a_test_that_nobody_ran_has_failed():
    builds = [(["a", "b/c"], [("a", "OK", ""), ("b/c", "OK", "")]), (["a", "b/c", "file"], [("a", "OK", "")])]
    assert tallied(builds) == (1, ["failed: file: registered in 1, and run in no build",
                                   "3 passed, 1 failed, 0 skipped"])


def each_point_that_was_skipped_is_told():
    output = ("no network here\nnot ok 1 # SKIP a\nok 2 - b\nnot ok 3 # SKIP c\n# skipped: not root\n"
              "ok 4 # SKIP d\nok 5 - e # SKIP no strace\ntest_f (M.test_f) ... skipped 'no torch'\n")
    status, lines = tallied([(["t"], [("t", "OK", output)])])
    assert status == 0 and [line.split("log0: ", 1)[-1] for line in lines] == [
        "a: no network here", "c: no reason given", "d: not root", "e: no strace", "test_f: no torch",
        "1 passed, 0 failed, 5 skipped"], "\n".join(lines)


def a_test_that_was_skipped_has_its_reason():
    for output in ("1..0 # SKIP no nft\n", "no nft\nnot ok 1 # SKIP a\n", "no nft\n"):
        status, lines = tallied([(["a", "t"], [("a", "OK", ""), ("t", "SKIP", output)])])
        assert status == 0 and lines[0].endswith("t, under log0: no nft"), "\n".join(lines)


tap.run([all_that_passes_is_counted, a_test_that_nobody_ran_has_failed,
         each_point_that_was_skipped_is_told, a_test_that_was_skipped_has_its_reason])
