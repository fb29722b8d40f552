#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GPU to GPU over TCP on one machine: ours, untuned, beside NCCL in turn.

Each figure is a median over rounds, each ratio is taken round by round. Writes OUT/gpu.md and
OUT/gpu.json, again after every part, so that a run that is cut short leaves what it has.
"""
import argparse
import datetime
import json
import os
import shutil
import signal
import sys
import time

import gpulib
from gpu_many import part_gpus, part_procs
from gpulib import GIB, KIB, MIB, Failed, Pair, median, size_text


class Bench:
    """What the parts use, and the table they fill."""

    def __init__(self, args):
        self.args = args
        self.programs = gpulib.Programs(args.bin)
        self.tcpx = gpulib.Tcpx(self.programs, *gpulib.places(args.host))
        self.gpus = gpulib.gpu_names()
        self.pairs, self.starts, self.table, self.path = {}, {}, [], {}
        self.alone = None          # samples of ours from before NCCL was started
        self.until = self.end = 0  # of the part at work, of all
        self.errors = []           # of the part at work; it went on without these rounds

    def pair(self, name, settings):
        """A live pair of NCCL processes, or None: what is ours is measured all the same."""
        if name in self.pairs and self.pairs[name].process.poll() is None:
            return self.pairs[name]
        self.starts[name] = self.starts.get(name, 0) + 1
        if self.starts[name] > 2 or (len(self.gpus) < 2 and not self.args.host):
            return None
        self.pairs[name] = Pair(self.programs, name, settings, nccl=self.args.nccl,
                                cuda=self.args.cuda)
        try:
            return self.pairs[name].ready()
        except Failed as e:
            self.errors.append(str(e))
            return None

    def nccl(self, op, sizes, seconds=0.2):
        """Runners of NCCL's default and tuned settings; both live, one works at a time."""
        tuned = ("tuned bi", gpulib.TUNED_BI) if op == "bi" else ("tuned uni", gpulib.TUNED_UNI)
        both = {"default": self.pair("default", {}), "tuned": self.pair(*tuned)}
        return {name: nccl_runner(pair, op, sizes, seconds) for name, pair in both.items() if pair}

    def ours(self, args, tcpx=None, check=True):
        """A runner: one launch of ours, every byte of the first round compared."""
        def once(i):
            rows = (tcpx or self.tcpx).perf(args + ([] if check and not i else ["-c", "0"]))
            return {row["size"]: brief(row) for row in rows}
        return once

    def rounds(self, runners, least=6, most=9, share=1.0):
        """@share: of the time that this part has left."""
        now = time.monotonic()
        s = gpulib.take_rounds(runners, now + share * max(0, self.until - now), self.end, least,
                               most)
        self.errors += s.errors
        return s

    def row(self, what, ours, beside, ratio, interval=None, want=None, rounds=0, wrong=0,
            least=True, leeway=False):
        """
        The median alone says whether @want is met. @least: it is a lower bound, else an upper
        one; @leeway: it is missed only if the whole interval misses it.
        """
        met = None
        if want is not None and ratio is not None:
            figure = (interval[1] if least else interval[0]) if leeway and interval else ratio
            met = "yes" if (figure >= want if least else figure <= want) else "NO"
        wanted = "" if want is None else "%s %g%s" % (">=" if least else "<=", want,
                                                      " by the interval" if leeway else "")
        self.table.append({"what": what, "ours": ours, "beside": beside, "ratio": ratio,
                           "interval": interval, "want": want, "wanted": wanted, "met": met,
                           "rounds": rounds, "wrong": wrong})

    def compare(self, s, what, case, other, field="GBps", form="%.2f GB/s", want=None,
                least=True, inverse=False, leeway=False):
        """One row from samples of "ours" and @other, with its interval."""
        ratios = s.ratios("ours", other, case, field, inverse)
        if not ratios:
            self.row(what, form % s.median("ours", case, field), "no " + other, None)
            return
        self.row(what, form % s.median("ours", case, field),
                 "%s %s" % (other, form % s.median(other, case, field)), median(ratios),
                 gpulib.median_interval(ratios), want, len(ratios), s.wrong("ours") +
                 s.wrong(other), least, leeway)


def brief(row):
    """What is kept of a row of ours."""
    kept = {"GBps": row["algbw_GBps"], "cpu_s_per_GB": row.get("cpu_s_per_GB"),
            "us": row["time_us"]["p50"], "iters": row["iters"], "channels": row["channels"],
            "chunk_bytes": row["chunk_bytes"], "wrong": row["wrong"], "checked": row["checked"],
            "message_us": row["size"] / max(row["algbw_GBps"], 1e-9) / 1000}
    if "half_rtt_us" in row:
        kept["half_us"], kept["half_p99_us"] = row["half_rtt_us"]["p50"], row["half_rtt_us"]["p99"]
    kept["tx_mode"] = ",".join(sorted({n.get("tx_mode", "?") for n in row["per_nic"]}))
    for extra in ("path_GBps", "path_1M_GBps", "ratio", "baseline_GBps", "pairs",
                  "baseline_cpu_s_per_GB", "baseline_half_rtt_us"):
        if extra in row:
            kept[extra] = row[extra]
    return kept


def joined(runs):
    """Several launches of ours as one runner."""
    def once(i):
        got = {}
        for run in runs:
            got.update(run(i))
        return got
    return once


def nccl_runner(pair, op, sizes, seconds=0.2, group=1):
    def once(_):
        got = {}
        for size in sizes:
            wrong = 0
            if op == "pingpong":  # as warm as ours
                wrong = pair.measure(op, size, seconds / 2, group)["wrong"]
            a = pair.measure(op, size, seconds, group)
            a["wrong"] += wrong
            if op == "pingpong":
                a["half_us"], a["half_p99_us"] = a["half_rtt_us"]["p50"], a["half_rtt_us"]["p99"]
            got[size] = a
        return got
    return once


# ---- parts: each returns what is kept in the JSON -----------------------------------------

def lat_runners(b):
    """Before those that are timed some tenth of a second of others."""
    return joined([b.ours(["--lat", "-b", "4K", "-e", "1M", "-f", "16", "-w", "1000", "-n",
                           "1500"]),
                   b.ours(["--lat", "-b", "16M", "-e", "16M", "-w", "30", "-n", "60"])])


def part_alone(b):
    """Round trips before there is any NCCL process: do idle ones cost ours anything?"""
    if b.pairs:
        raise Failed("NCCL processes live already")
    b.alone = b.rounds({"ours": lat_runners(b)}, 3, 3)
    return vars(b.alone)


def part_path(b):
    """What the copies out of one GPU and into the other could carry at most."""
    pair, kept = b.pair("default", {}), {}
    if not pair:
        raise Failed("no pair of NCCL processes")
    for op in ("path", "pathbi"):
        kept[op] = [pair.measure(op, 64 * MIB, 0.2)["GBps"] for _ in range(5)]
        b.path[op] = median(kept[op])
        b.row("copies alone, %s" % ("both ways, each way" if op == "pathbi" else "one way"), "",
              "path limit %.2f GB/s" % b.path[op], None, rounds=5)
    return kept


def limit_row(b, s, what, case, op, want):
    if op in b.path:
        ours = s.median("ours", case, "GBps")
        b.row(what, "%.2f GB/s" % ours, "path limit %.2f GB/s" % b.path[op], ours / b.path[op],
              None, want, len(s.values("ours", case, "GBps")))


def part_uni(b):
    sizes = [64 * MIB, 256 * MIB, GIB]
    s = b.rounds({"ours": b.ours(["-b", "64M", "-e", "1G", "-f", "4", "--depth", "4"]),
                  **b.nccl("uni", sizes)})
    for size in sizes[::-1]:
        what, large = "one way, %s queued" % size_text(size), size >= 256 * MIB
        b.compare(s, what, size, "default", want=10 if large else None)
        b.compare(s, what, size, "tuned", want=1.15 if large else 1)
        limit_row(b, s, what, size, "path", 0.77 if large else None)
    b.compare(s, "CPU of both ends, one way, 256 MiB", 256 * MIB, "tuned", "cpu_s_per_GB",
              "%.3f s/GB", 1, least=False)
    b.compare(s, "CPU of both ends, one way, 256 MiB", 256 * MIB, "default", "cpu_s_per_GB",
              "%.3f s/GB", None, least=False)
    return vars(s)


def part_bi(b):
    sizes = [64 * MIB, 256 * MIB]
    s = b.rounds({"ours": b.ours(["-b", "64M", "-e", "256M", "--depth", "4", "--dir", "bi"]),
                  **b.nccl("bi", sizes)})
    for size in sizes[::-1]:
        what = "both ways at once, %s queued, each way" % size_text(size)
        b.compare(s, what, size, "default")
        b.compare(s, what, size, "tuned", want=1.5)
        limit_row(b, s, what, size, "pathbi", None)
    b.compare(s, "CPU of both ends, both ways, 256 MiB", 256 * MIB, "tuned", "cpu_s_per_GB",
              "%.3f s/GB", 1, least=False)
    return vars(s)


def part_lat(b):
    sizes = [4 * KIB, 64 * KIB, MIB, 16 * MIB]
    s = b.rounds({"ours": lat_runners(b), **b.nccl("pingpong", sizes, 0.1)})
    better = min(("default", "tuned"), key=lambda name: s.median(name, MIB, "half_us"))
    for size, other, want in ((4 * KIB, "default", 0.8), (64 * KIB, "default", 0.85),
                              (MIB, better, 0.85), (16 * MIB, "tuned", 1)):
        b.compare(s, "half a round trip, %s" % size_text(size), size, other, "half_us",
                  "%.1f us", want, least=False)
    b.compare(s, "half a round trip, 4 KiB, p99", 4 * KIB, "default", "half_p99_us", "%.1f us",
              None, least=False)
    for size in sizes if b.alone else []:
        ours, alone = (x.median("ours", size, "half_us") for x in (s, b.alone))
        b.row("half a round trip, %s, beside idle NCCL processes" % size_text(size),
              "%.1f us" % ours, "without any %.1f us" % alone, ours / alone,
              rounds=len(b.alone.values("ours", size, "half_us")))
    return vars(s)


def part_rate(b):
    """4 KiB messages: one by one, and eight to a group, NCCL's way to say more at once."""
    size, grouped = 4 * KIB, {}
    if b.pair("default", {}):
        grouped["default, grouped by 8"] = nccl_runner(b.pairs["default"], "uni", [size], 0.2, 8)
    s = b.rounds({"ours": b.ours(["-b", "4K", "-e", "4K", "--depth", "64"]),
                  **b.nccl("uni", [size]), **grouped})
    for other, want in (("default", 2), ("default, grouped by 8", None), ("tuned", None)):
        b.compare(s, "4 KiB messages queued, time of one", size, other, "message_us", "%.2f us",
                  want, inverse=True)
    return vars(s)


def part_sizes(b):
    """The whole sweep, in three launches of ours since the depth differs."""
    sizes = [4 * KIB << 2 * i for i in range(10)]
    runs = [b.ours(["-b", begin, "-e", end, "-f", "4", "--depth", depth])
            for begin, end, depth in (("4K", "256K", "64"), ("1M", "16M", "16"),
                                      ("64M", "1G", "2"))]
    s = b.rounds({"ours": joined(runs), **b.nccl("uni", sizes, 0.1)}, 6, 7)
    for size in sizes:
        for other in ("default", "tuned"):
            b.compare(s, "sweep, one way, %s queued" % size_text(size), size, other, want=1,
                      leeway=True)
    return vars(s)


def part_kv(b, depth=1):
    """Scattered pages beside one piece of the same length."""
    kept = {}
    for op in ("write", "read"):
        args = ["--op", op, "--depth", str(depth)]
        whole = b.ours(args + ["-b", "327680000", "-e", "409600000", "--step", "81920000"])
        pages = joined([b.ours(args + ["--kv", n]) for n in ("40000x8K", "100000x4K")])
        s = b.rounds({"ours": pages, "one piece": whole}, share=0.5 if op == "write" else 1)
        for n, size in (("40000x8K", 327680000), ("100000x4K", 409600000)):
            b.compare(s, "%s, pages %s, %s" % (op.upper(), n, "%d queued" % depth if depth > 1
                                               else "one at a time"),
                      size, "one piece", want=0.85)
        kept[op] = vars(s)
    return kept


def part_nics(b):
    """Four addresses of this machine stand for four NICs; one transfer at a time."""
    nics = ",".join("127.0.0.%d" % i for i in range(1, 5))
    s = b.rounds({"ours": b.ours(["--nics", nics, "-b", "64M", "-e", "64M"])})
    ms, rate = s.median("ours", 64 * MIB, "us") / 1000, s.median("ours", 64 * MIB, "GBps")
    rounds, wrong = len(s.values("ours", 64 * MIB, "us")), s.wrong("ours")
    b.row("four NIC addresses, 64 MiB, time", "%.2f ms" % ms, "50 ms", ms / 50, None, 1, rounds,
          wrong, least=False)
    b.row("four NIC addresses, 64 MiB, rate", "%.2f GB/s" % rate, "15 GB/s", rate / 15, None, 1,
          rounds, wrong)
    return vars(s)


def part_none(b):
    """What packing and unpacking cost: beside it every byte crosses the bus unspread."""
    args = ["-b", "64M", "-e", "256M", "--depth", "4"]
    s = b.rounds({"ours": b.ours(args),
                  "not spread": b.ours(args + ["--unpack", "none"], check=False)})
    for size in (64 * MIB, 256 * MIB):
        b.compare(s, "one way, %s, packed and unpacked" % size_text(size), size, "not spread",
                  want=0.95)
        b.compare(s, "CPU, one way, %s, packed and unpacked" % size_text(size), size, "not spread",
                  "cpu_s_per_GB", "%.3f s/GB", least=False)
    return vars(s)


# fragments: of a device copy, of a copy from the host
UNPACK_WANTS = {"4 KiB pages": (0.95, 0.90), "8 KiB": (0.92, None), "64 KiB": (0.92, None),
                "1448 B, aligned": (0.80, None), "1448 B, misaligned": (0.78, 0.78),
                "1..4096 B, anywhere": (0.72, None)}


def part_unpack(b):
    """The copy kernels alone, beside the driver's copies of the same length."""
    got = b.tcpx.unpack()
    for row in got["rows"]:
        what = "copy kernel, 64 MiB in fragments of %s" % row["fragments"]
        want, want_pull = UNPACK_WANTS.get(row["fragments"], (None, None))
        b.row(what, "%.0f GB/s" % row["GBps"], "device copy", row["of_d2d"], None, want,
              got["pairs"], row["wrong"])
        b.row(what + ", two multiprocessors", "%.1f GB/s" % row["two_sms_GBps"], "55 GB/s",
              row["two_sms_GBps"] / 55, None, 1, got["pairs"])
        if "pull_GBps" in row:
            b.row(what + ", out of host memory", "%.1f GB/s" % row["pull_GBps"],
                  "copy from host %.1f GB/s" % got["h2d_GBps"], row["pull_of_h2d"], None,
                  want_pull, got["pairs"])
    chunk = got["chunk"]
    b.row("512 KiB of pages, launch to done", "%.1f us" % chunk["us"],
          "device copy %.1f us" % chunk["d2d_us"], chunk["of_d2d"], None, 1.05, got["pairs"],
          least=False)
    return got


def part_tests(b):
    """The kernels' tests on the GPU, plain and under compute-sanitizer."""
    kept = {}
    test = b.programs.find("kernels_test")
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    for name, tool in (("plain", []), ("memcheck", ["memcheck"]), ("racecheck", ["racecheck"])):
        cmd = [sanitizer, "--error-exitcode", "9", "--tool"] + tool if tool else []
        cmd += [test] + (["--lists", "20"] if tool else [])
        left = max(20, int(b.until - time.monotonic()))
        try:
            rc, out, err = gpulib.run_group(cmd, gpulib.our_env(), left)
        except OSError as e:
            rc, out, err = -1, "", str(e)
        kept[name] = {"code": rc, "output": (out + err)[-3000:]}
        last = ([line for line in (out + err).split("\n") if line.strip()] or [""])[-1]
        b.row("copy kernels' tests, " + name, "exit code %d" % rc, last.strip()[-60:],
              1 if rc == 0 else 0, None, 1)
    found = b.tcpx.perf(["-b", "64M", "-e", "64M", "-n", "5", "--spoil"])[-1]["wrong"]
    b.row("one byte changed before the comparison", "%d bytes found" % found, "", found, None, 1)
    return kept


def part_raw(b):
    """Beside plain sockets that carry the same bytes from and to host memory."""
    kept = []
    for way, args in (("one way", []), ("both ways", ["--dir", "bi"])):
        row = b.tcpx.perf(["-b", "64M", "-e", "64M", "--depth", "4", "--baseline"] + args)[-1]
        kept.append(brief(row))
        ours = "%.2f GB/s" % row["algbw_GBps"]
        b.row("%s, 64 MiB queued" % way, ours, "plain sockets %.2f GB/s" % row["baseline_GBps"],
              row["ratio"], interval_of(row), None, len(row["pairs"]), row["wrong"])
        if row.get("path_fraction"):
            b.row("%s, 64 MiB queued" % way, ours, "tool's path limit %.2f GB/s" %
                  row["path_GBps"], row["path_fraction"])
    return kept


def interval_of(row):
    ci = row.get("ratio_ci")
    return (ci["lo"], ci["hi"]) if ci else None


def part_host(b):
    """Host memory, beside plain sockets, as `bench.py loopback`."""
    kept = {}
    for what, args, want in (
            ("one way, 64 MiB", ["-b", "64M", "-e", "64M"], 0.9),
            ("both ways, 64 MiB", ["-b", "64M", "-e", "64M", "--dir", "bi"], 0.85),
            ("WRITE 40000x8K", ["--kv", "40000x8K"], 0.85),
            ("READ 40000x8K", ["--kv", "40000x8K", "--op", "read"], 0.85)):
        row = b.tcpx.perf(args + ["--baseline"], mem=False)[-1]
        kept[what] = brief(row)
        b.row("host memory, " + what, "%.2f GB/s" % row["algbw_GBps"], "plain sockets %.2f GB/s" %
              row["baseline_GBps"], row["ratio"], interval_of(row), want, len(row["pairs"]),
              row["wrong"])
    return kept


# name: (function, share of the time)
# in the order of what the loss of one would cost; alone must come before NCCL
PARTS = {"alone": (part_alone, 8), "path": (part_path, 15), "uni": (part_uni, 55),
         "bi": (part_bi, 35), "lat": (part_lat, 45), "rate": (part_rate, 25),
         "unpack": (part_unpack, 10), "kv": (part_kv, 65), "kvq": (lambda b: part_kv(b, 4), 65), "nics": (part_nics, 12),
         "none": (part_none, 25), "sizes": (part_sizes, 100), "tests": (part_tests, 40),
         "raw": (part_raw, 12), "gpus": (part_gpus, 25), "procs": (part_procs, 25),
         "host": (part_host, 20)}


# ---- writing ------------------------------------------------------------------------------

def save(b, record):
    record["table"], record["our_commands"] = b.table, b.tcpx.commands
    os.makedirs(b.args.out, exist_ok=True)
    with open(os.path.join(b.args.out, "gpu.json"), "w") as f:
        json.dump(record, f, separators=(",", ":"))
    text = gpulib.markdown(record)
    with open(os.path.join(b.args.out, "gpu.md"), "w") as f:
        f.write(text)
    return text


def run_parts(b, names, record):
    for i, name in enumerate(names):
        shares = sum(PARTS[n][1] for n in names[i:])
        start = time.monotonic()
        b.errors = []
        b.until = start + max(0, b.end - start) * PARTS[name][1] / shares
        kept = {}
        try:
            if start > b.end:
                raise Failed("no time was left")
            kept["data"] = PARTS[name][0](b)
        except Failed as e:
            b.errors.append(str(e))
        except Exception as e:  # a mistake in one part must not cost the others
            b.errors.append("%s: %s" % (type(e).__name__, e))
        if b.errors:
            kept["error"] = "; ".join(dict.fromkeys(b.errors))
        kept["seconds"] = round(time.monotonic() - start, 1)
        record["parts"][name] = kept
        print("%-7s %5.1f s  %s" % (name, kept["seconds"], kept.get("error", "")),
              file=sys.stderr, flush=True)
        save(b, record)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--out", default=os.path.join(gpulib.ROOT, "docs", "results"))
    p.add_argument("--bin", default=os.path.join(gpulib.ROOT, "build"),
                   help="where tcpx, nccl_p2p, unpack and kernels_test lie")
    p.add_argument("--only", help="parts, with commas: " + ",".join(PARTS))
    p.add_argument("--skip", default="", help="parts to leave out")
    p.add_argument("--budget", type=float, default=520, help="seconds for all")
    p.add_argument("--nccl", help="path of libnccl.so.2")
    p.add_argument("--cuda", help="path of libcuda.so.1")
    p.add_argument("--version", help="the commit that was built, where this is no git checkout")
    p.add_argument("--host", action="store_true", help="host memory on our side: to try this")
    args = p.parse_args()
    names = [n for n in (args.only.split(",") if args.only else PARTS)
             if n not in args.skip.split(",")]
    unknown = [n for n in names if n not in PARTS]
    if unknown:
        p.error("no part %s; there are %s" % (", ".join(unknown), ", ".join(PARTS)))
    b = Bench(args)
    b.end = time.monotonic() + args.budget
    record = {"machine": gpulib.machine(), "date": str(datetime.date.today()),
              "version": args.version or gpulib.version(),
              "command": "bench/gpu.sh", "nccl": {}, "parts": {}}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("time is out"))  # what there is, is kept
    try:
        run_parts(b, names, record)
    finally:
        record["nccl"] = {name: pair.close() for name, pair in b.pairs.items()}
        text = save(b, record)
    print(text)


if __name__ == "__main__":
    main()
