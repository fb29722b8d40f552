#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what passed, failed and was skipped, and says why for the last two.

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


def skip_reason(text):
    found = re.search(r"# SKIP\s*(.*)", text)
    return found.group(1) if found else tail(text).strip() or "no reason given"


def meson_tests(path):
    """Tests of one run of meson: (name, verdict, why)."""
    if not os.path.exists(path):
        return
    run = os.path.basename(path).removesuffix(".json")
    for line in open(path):
        test = json.loads(line)
        name = "%s, under %s" % (test["name"].split(":")[-1].strip(), run)
        text = (test.get("stdout") or "") + (test.get("stderr") or "")
        result = test["result"]
        if result == "SKIP":
            yield name, "SKIP", skip_reason(text)
        elif result in ("OK", "EXPECTEDFAIL"):
            yield name, "OK", ""
            # single points of a test that passed
            for point in re.findall(r"^ok \d+ - (.*)# SKIP (.*)$", text, re.M):
                yield "%s: %s" % (name, point[0].strip()), "SKIP", point[1]
        else:
            yield name, "FAIL", "%s\n%s" % (result.lower(), tail(text))


def main():
    points = list(steps(sys.argv[1]))
    for path in sys.argv[2:]:
        points += meson_tests(path)
    for verdict, title in (("SKIP", "skipped"), ("FAIL", "failed")):
        for name, got, why in points:
            if got == verdict:
                print("%s: %s: %s" % (title, name, why))
    count = {v: sum(1 for p in points if p[1] == v) for v in ("OK", "FAIL", "SKIP")}
    print("%d passed, %d failed, %d skipped" % (count["OK"], count["FAIL"], count["SKIP"]))
    return 1 if count["FAIL"] or not count["OK"] else 0


if __name__ == "__main__":
    sys.exit(main())
