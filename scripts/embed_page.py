#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the C file that holds the page's head: its style, its script, and the script's hash.

Usage: embed_page.py HEADER PAGE.html STYLE.css SCRIPT.js OUTPUT.c

The head is html_page[], cut where {title} and {more} stand: texts that are known when a page is
written. The policy of the page allows the script by its hash and no other.
"""
import base64
import hashlib
import sys


def literal(text):
    lines = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").split("\n")
    return "\n".join('\t"%s\\n"' % line for line in lines[:-1]) + '\n\t"%s"' % lines[-1]


def main():
    header, page, style, script = sys.argv[1], *(open(p).read() for p in sys.argv[2:5])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = page.replace("{hash}", "sha256-" + digest).replace("{style}", style)
    page = page.replace("{script}", script)
    head, rest = page.split("{title}")
    middle, end = rest.split("{more}")
    with open(sys.argv[5], "w") as out:
        out.write('/* Made by embed_page.py. */\n#include "%s"\n\n' % header)
        out.write("const char *const html_page[] = {\n%s\n};\n"
                  % ",\n".join(literal(part) for part in (head, middle, end)))


if __name__ == "__main__":
    main()
