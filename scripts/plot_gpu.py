#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the sweep from GPU to GPU beside NCCL from the table in docs/results/gpu.md.

Usage: plot_gpu.py RESULTS.md OUTPUT.svg    (- for stdout)

The picture has its own ground, so that it is readable on a light page and on a dark one. Its figures
are those of the table: `make check` makes it again and compares.
"""
import html
import math
import re
import sys

WIDTH, HEIGHT = 880, 456
LEFT, RIGHT, TOP, BOTTOM = 56, 852, 44, 358
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
ROW = r"^\| sweep, one way, (\d+) (\w+) queued \| ([\d.]+) GB/s \| (default|tuned) ([\d.]+) GB/s \|"
LIMIT = r"^\| copies alone, one way \|[^|]*\| path limit ([\d.]+) GB/s \|"
MACHINE = r"^Machine: (\d+) x (.*?), Linux ([\d.]+)\S*, (NVIDIA [^,]+), .*Date: ([\d-]+)\."
NCCL = r"^.*\b(NCCL [\d.]+) is kept off NVLink and shared memory"
STYLE = """
text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  fill: #4d545e; }
.name { font-weight: 600; } .small { font-size: 12.5px; fill: #5c636e; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: #e6e8eb; } .axis { stroke: #9aa1ab; } .limit { stroke: #5c636e; stroke-dasharray: 7 5; }
polyline { fill: none; stroke-width: 3; stroke-linejoin: round; stroke-linecap: round; }
.ours { stroke: #1257c9; } .tuned { stroke: #b4500a; } .default { stroke: #7a3bc8; }
circle { stroke: #ffffff; stroke-width: 1.5; }
circle.ours, text.ours { fill: #1257c9; } circle.tuned, text.tuned { fill: #b4500a; }
circle.default, text.default { fill: #7a3bc8; } text.ours, text.tuned, text.default { stroke: none; }
"""


def read(path):
    """(curves by name, each size -> GB/s; limit; lines of small print)"""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    curves = {"ours": {}, "tuned": {}, "default": {}}
    for number, unit, ours, other, value in re.findall(ROW, text, re.M):
        size = int(number) * UNITS[unit]
        curves["ours"][size] = float(ours)
        curves[other][size] = float(value)
    limit, machine, nccl = (re.search(p, text, re.M) for p in (LIMIT, MACHINE, NCCL))
    if not (all(len(c) > 1 for c in curves.values()) and limit and machine and nccl):
        sys.exit("%s: no sweep from GPU to GPU, path limit, machine or version of NCCL in it" % path)
    cpus, cpu, kernel, gpu, date = machine.groups()
    small = ("2 x %s in one host, over its loopback interface; %s kept off NVLink and shared memory" % (gpu, nccl.group(1)),
             "%s CPUs (%s), Linux %s; measured %s" % (cpus, re.sub(r"\(R\)", "", cpu), kernel, date))
    return curves, float(limit.group(1)), small


def size_text(size):
    unit = max((u for u in UNITS if UNITS[u] <= size), key=UNITS.get)
    return "%d %s" % (size // UNITS[unit], unit)


class Picture:
    def __init__(self, sizes, top):
        self.sizes, self.top = sizes, 10 * math.ceil(top / 10)
        self.out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" '
                    'aria-label="Speed from GPU to GPU over the size of a transfer: ours, NCCL tuned, NCCL default, '
                    'and the limit of the bus">' % (WIDTH, HEIGHT),
                    "<style>%s</style>" % STYLE,
                    '<rect width="%d" height="%d" rx="12" fill="#ffffff" stroke="#dfe2e6"/>' % (WIDTH, HEIGHT)]

    def x(self, size):
        lo, hi = math.log2(self.sizes[0]), math.log2(self.sizes[-1])
        return LEFT + 16 + (RIGHT - LEFT - 32) * (math.log2(size) - lo) / (hi - lo)

    def y(self, value):
        return BOTTOM - (BOTTOM - TOP) * value / self.top

    def line(self, css, x1, y1, x2, y2):
        self.out.append('<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>' % (css, x1, y1, x2, y2))

    def text(self, css, x, y, text):
        self.out.append('<text class="%s" x="%.1f" y="%.1f">%s</text>' % (css, x, y, html.escape(text)))

    def axes(self):
        for value in range(0, self.top + 1, 10):
            self.line("grid" if value else "axis", LEFT, self.y(value), RIGHT, self.y(value))
            self.text("end", LEFT - 9, self.y(value) + 5, "%d" % value)
        for size in self.sizes:
            self.line("axis", self.x(size), BOTTOM, self.x(size), BOTTOM + 5)
            self.text("middle", self.x(size), BOTTOM + 23, size_text(size))
        self.text("", 16, 26, "GB/s from GPU to GPU, one way")
        self.text("end", RIGHT, BOTTOM + 45, "size of one transfer")

    def curve(self, css, curve):
        points = [(self.x(s), self.y(v)) for s, v in sorted(curve.items())]
        self.out.append('<polyline class="%s" points="%s"/>' % (css, " ".join("%.1f,%.1f" % p for p in points)))
        for (x, y), (size, value) in zip(points, sorted(curve.items())):
            self.out.append('<circle class="%s" cx="%.1f" cy="%.1f" r="4.5"><title>%s: %.2f GB/s</title></circle>'
                            % (css, x, y, size_text(size), value))

    def name(self, css, text, curve, others):
        """At the point that is farthest from the other curves: left of the upper one's, above the lowest's."""
        def room(size):
            return min(abs(curve[size] - o[size]) for o in others)

        size = max(sorted(curve)[1:-1], key=room)
        x, y, below = self.x(size), self.y(curve[size]), sum(curve[size] > o[size] for o in others)
        if below == len(others):
            self.text("name end " + css, x - 12, y - 6, text)
        elif below:
            self.text("name " + css, x + 12, y + 16, text)
        else:
            self.text("name middle " + css, x, y - 12, text)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    curves, limit, small = read(sys.argv[1])
    names = {"ours": "tcpx-p2p", "tuned": "NCCL, tuned", "default": "NCCL, default"}
    picture = Picture(sorted(curves["ours"]), limit)
    picture.axes()
    picture.line("limit", LEFT, picture.y(limit), RIGHT, picture.y(limit))
    picture.text("name", LEFT + 16, picture.y(limit) + 19, "limit of the bus: %.1f" % limit)
    for css in ("default", "tuned", "ours"):
        picture.curve(css, curves[css])
    for css, name in names.items():
        picture.name(css, name, curves[css], [c for other, c in curves.items() if other != css])
    for i, line in enumerate(reversed(small)):
        picture.text("small", 16, HEIGHT - 16 - 18 * i, line)
    text = "\n".join(picture.out + ["</svg>", ""])
    if sys.argv[2] == "-":
        sys.stdout.write(text)
    else:
        with open(sys.argv[2], "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
