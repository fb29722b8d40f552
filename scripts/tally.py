#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what passed, failed and was skipped, and says why for the last two. A test that a build of
these logs registers, and that none of them ran, has failed.

Usage: tally.py STEPS MESON-LOG.json...   (STEPS is TAP; a log that is missing counts as
nothing: whoever should have written it has said so in STEPS)
"""
import json
import os
import re
import sys

TAIL = 25  # lines shown of a failed test's output


TROUBLE = re.compile(r"not ok \d|ERROR: \w*Sanitizer|WARNING: \w*Sanitizer|runtime error:|"
                     r"FAILED|error:")


def tail(text):
    """The lines that tell most: from the first sign of trouble on, or the last."""
    lines = text.rstrip().splitlines()
    first = next((i for i, line in enumerate(lines) if TROUBLE.search(line)), len(lines) - TAIL)
    return "\n".join("    " + line for line in lines[max(first, 0):][:TAIL])


def steps(path):
    """Points of a TAP file: (name, verdict, why)."""
    lines = open(path, errors="replace").read().splitlines()
    for line, after in zip(lines, lines[1:] + [""]):
        point = re.match(r"(not )?ok\b[ \d]*(?:- )?(.*?)(?:\s*# SKIP\s*(.*))?$", line)
        if not point:
            continue
        failed, name, reason = point.groups()
        if failed:
            log = after[6:] if after.startswith("# see ") else ""
            text = open(log, errors="replace").read() if os.path.exists(log) else ""
            yield name, "FAIL", "%s\n%s" % (log, tail(text))
        else:
            yield name, "OK" if reason is None else "SKIP", reason or ""


def skips(text):
    """Points that were skipped: (name, why). cmocka tells no reason; a test may print one before."""
    lines = text.splitlines()
    for before, line in zip([""] + lines, lines):
        point = (re.match(r"ok \d+ - (.*?)\s*# SKIP\s*(.*)$", line) or  # our own
                 re.match(r"(.*?)(?: \(.*)? \.\.\. skipped ['\"](.*)['\"]$", line))  # unittest's
        cmocka = re.match(r"(?:not )?ok \d+ # SKIP (.*)$", line)
        if point:
            yield point.groups()
        elif cmocka:
            told = not re.match(r"$|(not )?ok |1\.\.|# (Ok|Skipped)", before)
            yield cmocka.group(1), re.sub(r"^(# )?(skipped: )?", "", before) if told else "no reason given"


def skip_reason(text):
    found = re.search(r"^1\.\.0 # SKIP\s*(.*)", text, re.M)
    points = "; ".join(sorted({why for _, why in skips(text)}))
    return found.group(1) if found else points or tail(text).strip() or "no reason given"


def results(path):
    """Of one run of meson."""
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def meson_tests(path):
    """Tests of one run of meson: (name, verdict, why)."""
    run = os.path.basename(path).removesuffix(".json")
    for test in results(path):
        name = "%s, under %s" % (test["name"].split(":")[-1].strip(), run)
        text = (test.get("stdout") or "") + (test.get("stderr") or "")
        result = test["result"]
        if result == "SKIP":
            yield name, "SKIP", skip_reason(text)
        elif result in ("OK", "EXPECTEDFAIL"):
            yield name, "OK", ""
            for point, why in skips(text):  # of a test that passed
                yield "%s: %s" % (name, point), "SKIP", why
        else:
            yield name, "FAIL", "%s\n%s" % (result.lower(), tail(text))


def never_run(paths):
    """What meson knows in the builds of these logs, and ran in none. A log that is missing has had
    its own failure."""
    if not all(map(os.path.exists, paths)):
        return
    ran = {test["name"].split(" / ", 1)[-1] for path in paths for test in results(path)}
    for path in paths:
        build = os.path.dirname(os.path.dirname(path))
        with open(os.path.join(build, "meson-info/intro-tests.json")) as f:
            for name in sorted({test["name"] for test in json.load(f)} - ran):
                ran.add(name)
                yield name, "FAIL", "registered in %s, and run in no build" % build


def main():
    points = list(steps(sys.argv[1]))
    for path in sys.argv[2:]:
        points += meson_tests(path)
    points += never_run(sys.argv[2:])
    for verdict, title in (("SKIP", "skipped"), ("FAIL", "failed")):
        for name, got, why in points:
            if got == verdict:
                print("%s: %s: %s" % (title, name, why))
    count = {v: sum(1 for p in points if p[1] == v) for v in ("OK", "FAIL", "SKIP")}
    print("%d passed, %d failed, %d skipped" % (count["OK"], count["FAIL"], count["SKIP"]))
    return 1 if count["FAIL"] or not count["OK"] else 0


if __name__ == "__main__":
    sys.exit(main())
