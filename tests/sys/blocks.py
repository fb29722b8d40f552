#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the code blocks out of a page, as printed.

blocks.py PAGE DIR: block number n becomes DIR/n.LANGUAGE ("plain" without one).
"""
import pathlib
import re
import sys

page, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
for number, match in enumerate(
        re.finditer(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S), 1):
    language, text = match.groups()
    name = f"{number}.{language or 'plain'}"
    (out / name).write_text(text)
    print(name)
