#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Versions of tcpx over a link that loses packets, in turn: half a round trip, and what is not in the median.

    bench/loss.py [--loss 5] [--rounds 5] TCPX [TCPX...]

Root. Two emulated hosts with a NIC each; of 1000 packets that reach a host --loss vanish. A line a version and
size: the means' median, and the medians of p99, p99.9 and of the longest, in ms.
"""
import argparse
import json
import os
import subprocess
import sys

from gpulib import median, trouble

SIZES = ("8", "64K")


class Lab:
    def __init__(self, tool):
        self.tool, self.name = tool, "loss%d" % os.getpid()

    def up(self, loss):
        subprocess.run([self.tool, "lab", "up", "--name", self.name, "--nics", "1", "--rate", "1G"], check=True,
                       stdout=subprocess.DEVNULL)
        for host in ("h0", "h1"):
            for rule in ("add table inet t", "add chain inet t c { type filter hook input priority 0; }",
                         "add rule inet t c iifname eth0 numgen random mod 1000 < %d drop" % loss):
                subprocess.run(self.on(host, "nft", rule), check=True)

    def on(self, host, *command):
        return [self.tool, "lab", "exec", "--name", self.name, host, *command]

    def down(self):
        subprocess.run([self.tool, "lab", "down", "--name", self.name], stdout=subprocess.DEVNULL)


def measure(lab, tool):
    """{size: half_rtt_us}; the server ends after the client."""
    rows = {}
    for size in SIZES:
        server = subprocess.Popen(lab.on("h1", tool, "serve", "--once", "--events", "-"), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            server.stdout.readline()  # it listens
            client = subprocess.run(lab.on("h0", tool, "perf", "10.77.0.2", "--lat", "-b", size, "-n", "4000",
                                           "--json", "-"), stdout=subprocess.PIPE, text=True, timeout=120,
                                    check=True, stderr=subprocess.DEVNULL)
            server.communicate(timeout=60)
        finally:
            server.kill()
        got = json.loads(client.stdout)["rows"]
        if trouble(got, ["--lat"]):
            sys.exit("%s: %s" % (size, trouble(got, ["--lat"])))
        rows[size] = got[0]["half_rtt_us"]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcpx", nargs="+")
    parser.add_argument("--loss", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    got = {tool: [] for tool in options.tcpx}
    lab = Lab(options.tcpx[0])
    try:
        lab.up(options.loss)
        for number in range(options.rounds):
            for tool in options.tcpx[::-1] if number % 2 else options.tcpx:
                got[tool].append(measure(lab, tool))
    finally:
        lab.down()
    for tool, rounds in got.items():
        for size in SIZES:
            print(tool, size, *("%s %.2f" % (key, median([r[size][key] for r in rounds]) / 1000)
                                for key in ("mean", "p99", "p999", "max")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
