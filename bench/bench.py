#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a named set of measurements with build/tcpx and writes docs/results/NAME.{md,json}.

    bench/bench.py loopback      ratios to raw sockets on this machine, lo and four veth pairs, with
                                 cubic and with reno on both sides; "holds": median >= 0.95, lower
                                 end >= 0.90 and CPU s/GB <= 1.1 times (root, 12 minutes)
    bench/bench.py nics          emulated NICs of unequal rate (root)
    bench/bench.py scaling       channels x NICs of equal rate (root)
    bench/bench.py idle          what an engine with open sessions costs at rest

Each figure is a ratio taken in one run, with the command that made it beside it.
"""
import datetime
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time

from gpulib import trouble

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TCPX = os.environ.get("TCPX", os.path.join(ROOT, "build", "tcpx"))


def run(args, prefix=(), timeout=600):
    """One `tcpx perf`; the result as a dictionary."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        cmd = list(prefix) + [TCPX, "perf"] + args + ["--json", out.name]
        print("+ tcpx perf " + " ".join(args), file=sys.stderr, flush=True)
        done = subprocess.run(cmd, timeout=timeout, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit("failed: %s\n%s" % (" ".join(cmd), done.stderr))
        result = json.load(open(out.name))
    if trouble(result["rows"], args):
        sys.exit("%s: %s" % (trouble(result["rows"], args), " ".join(cmd)))
    return result


class Lab:
    """Two emulated hosts; the server runs on the second."""

    def __init__(self, rates, serve=()):
        self.name = "bench%d" % os.getpid()
        self.rates, self.serve = rates, list(serve)

    def __enter__(self):
        subprocess.run([TCPX, "lab", "up", "--name", self.name, "--nics", str(len(self.rates)),
                        "--rate", ",".join(self.rates)], check=True, stdout=subprocess.DEVNULL)
        self.server = subprocess.Popen(
            [TCPX, "lab", "exec", "--name", self.name, "h1", TCPX, "serve"] + self.serve,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        self.prefix = [TCPX, "lab", "exec", "--name", self.name, "h0"]
        return self

    def __exit__(self, *_):
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(timeout=20)
        subprocess.run([TCPX, "lab", "down", "--name", self.name], check=True,
                       stdout=subprocess.DEVNULL)


# What is moved, arguments, pairs. The sockets move scattered pieces as one.
MOVES = (("WRITE 64 MiB", ["-b", "64M"], 40),
         ("READ 64 MiB", ["-b", "64M", "--op", "read"], 40),
         ("both ways 64 MiB", ["-b", "64M", "--dir", "bi"], 40),
         ("WRITE 1 GiB", ["-b", "1G", "-n", "1", "-w", "1"], 24),
         ("READ 1 GiB", ["-b", "1G", "-n", "1", "-w", "1", "--op", "read"], 24),
         ("both ways 1 GiB", ["-b", "1G", "-n", "1", "-w", "1", "--dir", "bi"], 16),
         ("WRITE 40000 x 8 KiB", ["--kv", "40000x8K"], 40),
         ("READ 40000 x 8 KiB", ["--kv", "40000x8K", "--op", "read"], 40))


def interval(values):
    """Median, and the order statistics that hold it at 95 %; as src/tool/stats.c."""
    v = sorted(values)
    n, rank = len(v), 0
    share = below = 0.5 ** n
    while 2 * below <= 0.05:
        rank += 1
        share = share * (n - rank + 1) / rank
        below += share
    mid = (v[(n - 1) // 2] + v[n // 2]) / 2
    return (mid, v[rank - 1], v[n - rank]) if rank else (mid, float("nan"), float("nan"))


def a_a(pairs):
    """Ours against ours, and raw against raw: runs next to each other in time are compared.
    Ours is first in even pairs, so the ends of 1 and 2, of 3 and 4 ... meet."""
    ours, raw = ([p[k] for p in pairs] for k in ("ours_us", "baseline_us"))
    return interval([ours[i] / ours[i + 1] for i in range(1, len(pairs) - 1, 2)] +
                    [raw[i] / raw[i + 1] for i in range(0, len(pairs) - 1, 2)])


def compare(name, path, congestion, args, pairs, prefix=()):
    r = run(args + ["--baseline", "--pairs", str(pairs), "--congestion", congestion],
            prefix)["rows"][-1]
    assert r["congestion"] == r["baseline_congestion"] == congestion, (name, congestion)
    cpu = r["cpu_s_per_GB"] / r["baseline_cpu_s_per_GB"]
    mid, lo, hi = r["ratio"], r["ratio_ci"]["lo"], r["ratio_ci"]["hi"]
    same = a_a(r["pairs"])
    # where equals differ by more than 10 %, only the median counts
    good = mid >= 0.95 and (lo >= 0.90 or same[2] - same[1] > 0.10) and cpu <= 1.1
    return [name, path, congestion, "%.2f" % r["algbw_GBps"], "%.2f" % r["baseline_GBps"],
            "%.3f" % mid, "%.3f .. %.3f" % (lo, hi), "%.3f .. %.3f" % same[1:], "%.2f" % cpu,
            "yes" if good else "no", str(r["wrong"])]


def loopback():
    """Ratios with one congestion control on both sides; about 12 minutes. Root."""
    rows = []
    for congestion in ("cubic", "reno"):
        for name, args, pairs in MOVES:
            rows.append(compare(name, "lo", congestion, ["--self"] + args, pairs))
        with Lab(["0"] * 4, ["--congestion", congestion]) as lab:
            for name, args, pairs in MOVES:
                rows.append(compare(name, "4 veth", congestion, ["10.77.0.2"] + args, pairs,
                                    lab.prefix))
    tables = [(["what", "path", "both use", "ours GB/s", "raw GB/s", "ratio", "95 %",
                "A/A 95 %", "CPU ratio", "holds", "wrong"], rows)]
    # waking an idle CPU or sharing one decides between 3 us and 30: show both
    lats = []
    for pin in ([], ["taskset", "-c", "0"]):
        r = run(["--self", "--lat", "--baseline", "-n", "10000"], pin)
        lat, place = r["rows"][-1], r["placement"]
        l, b = lat["half_rtt_us"], lat["baseline_half_rtt_us"]
        one_cpu = place.startswith("both sides on")
        for p, want in (("p50", "<= 1.3" if one_cpu else "<= 1.05"), ("p99", "")):
            lats.append([place, p, "%.2f" % l[p], "%.2f" % b[p], "%.2f" % (l[p] / b[p]), want])
    tables.append((["64 B, half a round trip (us)", "percentile", "ours", "raw", "ratio", "wanted"],
                   lats))
    spin = []
    for _ in range(5):
        plain = run(["--self", "-b", "64M", "-e", "64M", "-n", "20"])["rows"][-1]["algbw_GBps"]
        spun = run(["--self", "-b", "64M", "-e", "64M", "-n", "20",
                    "--spin"])["rows"][-1]["algbw_GBps"]
        spin.append(spun / plain)
    spin.sort()
    tables.append((["both applications spin", "median of 5 pairs", "min .. max", "wanted"],
                   [["WRITE 64 MiB, spinning / waiting", "%.2f" % spin[2],
                     "%.2f .. %.2f" % (spin[0], spin[-1]), ">= 0.8"]]))
    return tables


def goodput(prefix, size, dist, channels, iters="1"):
    r = run(["10.77.0.2", "-b", size, "-e", size, "-n", iters, "-w", "1", "--channels", channels,
             "--dist", dist], prefix)["rows"][-1]
    share = ", ".join("%s %.1f %%" % (n["nic"], 100 * n["share"]) for n in r["per_nic"])
    return r["algbw_GBps"] * 8, share, r["wrong"]


def nics():
    rows = []
    total = 3.25
    for dist in ("pull", "rr"):
        with Lab(["1G", "1G", "1G", "250M"], ["--dist", dist]) as lab:
            for size in ("1G", "128M"):
                got = sorted(goodput(lab.prefix, size, dist, "4/nic") for _ in range(3))
                gbps, share, wrong = got[1]
                rows.append([dist, size, "%.3f" % gbps, "%.3f" % (gbps / total), share,
                             {"1G": ">= 0.92", "128M": ">= 0.88"}[size] if dist == "pull" else "",
                             str(wrong)])
    # rr: strictly by turn, a channel that is slow to take its chunk holds all others up; a
    # fixed quarter for each NIC could reach 4 x 0.25 / 3.25 = 0.31 at best
    return [(["rule (rr: strictly by turn)", "size", "goodput Gbit/s", "of 3.25",
              "share of each NIC", "wanted", "wrong"], rows)]


def scaling():
    rows = []
    one = {}
    for n in (1, 2, 4):
        with Lab(["1G"] * n) as lab:
            for c in (1, 2, 4, 8):
                got = sorted(goodput(lab.prefix, "256M", "pull", "%d/nic" % c) for _ in range(3))
                gbps = got[1][0]
                if n == 1:
                    one[c] = gbps
                rows.append([str(n), str(c), "%.3f" % gbps, "%.3f" % (gbps / (n * one[c])),
                             "%.3f" % (gbps / (n * one[1]))])
    return [(["NICs of 1 Gbit/s", "channels a NIC", "goodput Gbit/s", "of NICs x one NIC's",
              "of NICs x (one NIC, one channel)"], rows)]


def idle():
    rows = []
    probe = os.path.join(os.path.dirname(TCPX), "bench", "idle")
    for sessions in ("1", "200"):
        out = json.loads(subprocess.run([probe, sessions, "10"], check=True, capture_output=True,
                                        text=True).stdout)
        rows.append([sessions, "%.4f %%" % out["cpu_percent"], str(out["threads"]),
                     "%.1f" % (out["memory_bytes"] / 1024 / out["sessions"])])
    return [(["sessions in one process", "CPU while idle", "threads", "engine memory a session KiB"],
             rows)]


def machine():
    model = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if "model name" in l), "?")
    mem = next(int(l.split()[1]) for l in open("/proc/meminfo") if l.startswith("MemTotal"))
    return "%d x %s, %.0f GiB, Linux %s" % (os.cpu_count(), model, mem / 2**20,
                                            platform.release())


def main():
    sets = {f.__name__: f for f in (loopback, nics, scaling, idle)}
    if len(sys.argv) != 2 or sys.argv[1] not in sets:
        sys.exit(__doc__)
    name = sys.argv[1]
    tables = sets[name]()
    lines = ["# %s" % name, "", "Machine: %s. Date: %s. Command: `bench/bench.py %s`."
             % (machine(), datetime.date.today(), name),
             "Both ends share this machine: read the ratios, not the GB/s. Congestion control of "
             "the system: %s." % open("/proc/sys/net/ipv4/tcp_congestion_control").read().strip(),
             ""]
    for head, rows in tables:
        lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        lines += ["| " + " | ".join(r) + " |" for r in rows] + [""]
    os.makedirs(os.path.join(ROOT, "docs", "results"), exist_ok=True)
    with open(os.path.join(ROOT, "docs", "results", name + ".md"), "w") as f:
        f.write("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
