#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Removes what `make install` puts below DESTDIR, and the folders that it leaves empty.

Usage: uninstall.py [--prefix DIR] [--options "-Dx=y ..."] BUILD DESTDIR
"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from build import configure  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", default="")
    parser.add_argument("--options", default="")
    parser.add_argument("build")
    parser.add_argument("destdir")
    args = parser.parse_args()
    configure(args.build, args.prefix, args.options)
    text = subprocess.run(["meson", "introspect", "--installed", args.build], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    paths = [args.destdir + path for path in json.loads(text).values()]
    removed = 0
    for path in paths:
        if os.path.lexists(path):
            os.unlink(path)
            removed += 1
        folder = os.path.dirname(path)
        while "tcpx" in folder[len(args.destdir):] and os.path.isdir(folder) and \
                not os.listdir(folder):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
    print("removed %d files below %s" % (removed, args.destdir or "/"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
