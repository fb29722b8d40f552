#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants bugs one by one in a copy of the tree, and runs the tests that must notice them.

The lists beside this file hold them, a file for each room of src/. An entry:

    == a path that delivered nothing is tried again at once        (a fact about the bug)
    file src/proto/path.c
    test proto.path_test                                           (first the one that is quick)
    test sim --seeds 1..2000                                       (with other arguments)
     a line that stays, where one line alone is not unique
    -	the line that goes
    +	the line that comes

The bug is noticed by the first test of the entry that fails or takes too long.
"""
import argparse
import collections
import filecmp
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TRAP = "-g1 -fsanitize-undefined-trap-on-error"  # as scripts/check.sh
SETUP = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1", "-Dc_args=" + TRAP,
         "-Dcpp_args=" + TRAP]
Entry = collections.namedtuple("Entry", "room name file tests old new")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def entries_of(path):
    """The entries of one list."""
    room, found = os.path.basename(path)[:-4], []
    for part in re.split(r"^== ", read(path), flags=re.M)[1:]:
        name, *lines = part.rstrip("\n").split("\n")
        head = [line.split(None, 1) for line in lines if line[:5] in ("file ", "test ")]
        edit = [line for line in lines if line[:1] in (" ", "-", "+")]
        found.append(Entry(room, name, "".join(v for k, v in head if k == "file"),
                           [v.split() for k, v in head if k == "test"],
                           "".join(line[1:] + "\n" for line in edit if line[0] != "+"),
                           "".join(line[1:] + "\n" for line in edit if line[0] != "-")))
    return found


def all_entries():
    return [e for path in sorted(glob.glob(HERE + "/*.txt")) for e in entries_of(path)]


def places(text, old):
    """How often whole lines of a text are these."""
    return ("\n" + text).count("\n" + old) if old else 0


class Copy:
    """A copy of the tracked files with a build of its own."""

    def __init__(self, tree, build):
        self.tree, self.build, self.fixed, self.tests = tree, build, [], {}
        self.clean = {}  # by a test's words: whether it passes without a bug, and its seconds
        self.env = dict(os.environ, CCACHE_BASEDIR=ROOT, CCACHE_NOHASHDIR="1")
        self.env.setdefault("ASAN_OPTIONS", "halt_on_error=1:abort_on_error=1")

    def fill(self):
        """Makes it, or brings it up to date; what has not changed keeps its time."""
        for name in filter(None, self.said("git", "-C", ROOT, "ls-files", "-z").split("\0")):
            there, here = os.path.join(ROOT, name), os.path.join(self.tree, name)
            os.makedirs(os.path.dirname(here), exist_ok=True)
            if not os.path.exists(there):
                subprocess.run(["rm", "-f", here], check=True)
            elif not os.path.exists(here) or not filecmp.cmp(there, here, shallow=False):
                shutil.copy(there, here)
        if not os.path.exists(self.build + "/build.ninja"):
            self.said("meson", "setup", *SETUP, self.build, self.tree)

    def said(self, *command):
        return subprocess.run(command, check=True, text=True, env=self.env,
                              stdout=subprocess.PIPE).stdout

    def open(self):
        if subprocess.run("setarch -R true 2>/dev/null", shell=True, check=False).returncode == 0:
            self.fixed = ["setarch", "-R"]
        files = {t["id"]: t["filename"]
                 for t in json.loads(self.said("meson", "introspect", "--targets", self.build))}
        for t in json.loads(self.said("meson", "introspect", "--tests", self.build)):
            needs = [os.path.relpath(f, self.build) for d in t["depends"] for f in files[d]]
            self.tests[t["name"]] = t, needs

    def make(self, words):
        """Builds what a test needs. None, or what the compiler said."""
        done = subprocess.run(["ninja", "-C", self.build, "-j2"] + self.tests[words[0]][1], text=True,
                              env=self.env, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout if done.returncode else None

    def run(self, words, limit_s):
        """True: the test passes; False; None: it was skipped."""
        test = self.tests[words[0]][0]
        command = test["cmd"][:1] + words[1:] if words[1:] else test["cmd"]
        child = subprocess.Popen(self.fixed + command, cwd=test["workdir"] or self.build,
                                 env=dict(self.env, **test["env"]), start_new_session=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        try:
            said = child.communicate(timeout=limit_s)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            return False
        finally:
            subprocess.run(["kill", "-KILL", "--", "-%d" % child.pid], check=False,
                           stderr=subprocess.DEVNULL)
        if child.returncode == 77 or re.match(r"1\.\.0 # *skip", said, re.I):
            return None
        return child.returncode == 0 and not re.search(r"^not ok", said, re.M)

    def without(self, words):
        """How a test ends without a bug, and how long it takes."""
        key, began = " ".join(words), time.monotonic()
        if key not in self.clean:
            good = words[0] in self.tests and not self.make(words) and self.run(words, 3600)
            self.clean[key] = good, time.monotonic() - began
        return self.clean[key]

    def plant(self, entry):
        """What became of it; the test that noticed it, or why it was not planted."""
        path = os.path.join(self.tree, entry.file)
        text = read(path)
        for words in entry.tests:
            if not self.without(words)[0]:
                skipped = self.without(words)[0] is None
                return "skipped" if skipped else "unfit", words[0] + (
                    " is skipped here" if skipped else " does not pass without it")
        try:
            at = ("\n" + text).index("\n" + entry.old)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text[:at] + entry.new + text[at + len(entry.old):])
            for words in entry.tests:
                failed = self.make(words)
                if failed:
                    return "unfit", "it does not build:\n" + failed
                if self.run(words, 60 + 10 * self.without(words)[1]) is False:
                    return "noticed", "by " + " ".join(words)
            return "survived", "every test of the entry passes"
        finally:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)


def work(copy, todo, done):
    copy.fill()
    copy.open()
    while True:
        try:
            entry = todo.pop(0)
        except IndexError:
            return
        how, why = copy.plant(entry)
        done.append(how)
        print("%s %d - %s: %s%s %s" % ("not ok" if how in ("survived", "unfit") else "ok", len(done),
                                       entry.room, entry.name, " # SKIP" if how == "skipped" else ",",
                                       "\n# ".join(why.splitlines()[:20])), flush=True)


def main():
    p = argparse.ArgumentParser(description="Plants bugs and looks which test notices them.")
    p.add_argument("pattern", nargs="*", help="rooms, or parts of names (all)")
    p.add_argument("--list", action="store_true", help="names and tests, and no more")
    p.add_argument("-j", type=int, default=1, metavar="N", help="so many copies at a time (1)")
    p.add_argument("--folder", default=ROOT + "/build-mutants", help="where the copies are")
    a = p.parse_args()
    todo, done = [e for e in all_entries() if not a.pattern or
                  any(x == e.room or x in e.name for x in a.pattern)], []
    if a.list:
        for e in todo:
            print("%s: %s (%s)" % (e.room, e.name, ", ".join(map(" ".join, e.tests))))
        return 0
    count = len(todo)
    print("1..%d" % count, flush=True)
    trees = ["%s/%d" % (os.path.abspath(a.folder), i) for i in range(a.j)]
    copies = [Copy(tree, tree + "/build-asan") for tree in trees]  # names that ccache knows
    with ThreadPoolExecutor(a.j) as pool:
        list(pool.map(lambda copy: work(copy, todo, done), copies))
    print("# " + ", ".join("%d %s" % (done.count(how) if how != "planted" else count, how)
                           for how in ("planted", "noticed", "survived", "skipped", "unfit")
                           if how in ("planted", "noticed", "survived") or how in done))
    return 0 if count and count == done.count("noticed") + done.count("skipped") else 1


if __name__ == "__main__":
    sys.exit(main())
