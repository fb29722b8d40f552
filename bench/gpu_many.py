# SPDX-License-Identifier: Apache-2.0
"""Parts of gpu.py: several GPUs in a process, several processes; what all carry together, what
it costs, and whether each gets its share."""
import gpulib
from gpulib import MIB, Failed, median

PAIRS = 8  # process pairs where there are fewer GPUs than that


def need_two(b):
    if len(b.gpus) < 2:
        raise Failed("%d GPUs are too few" % len(b.gpus))
    return len(b.gpus)


def part_gpus(b):
    """Several GPUs in each of two processes; transfers take them in turn."""
    n = 1 if b.args.host else need_two(b)
    near, far = ("cuda:0-%d" % (n // 2 - 1), "cuda:%d-%d" % (n // 2, n - 1)) if n >= 4 else (
        "cuda:0-1", "cuda:0-1")
    t = b.tcpx if b.args.host else gpulib.Tcpx(b.programs, near, far, b.tcpx.commands)
    s = b.rounds({"ours": b.ours(["-b", "64M", "-e", "64M", "--depth", 16], tcpx=t),
                  "one GPU": b.ours(["-b", "64M", "-e", "64M", "--depth", 16])}, 5)
    what = "%s in one process to %s in another" % (near, far)
    b.compare(s, what, 64 * MIB, "one GPU")
    b.compare(s, "CPU of both ends, " + what, 64 * MIB, "one GPU", "cpu_s_per_GB", "%.3f s/GB",
              None, least=False)
    return vars(s)


def at_once(b, count, gpus):
    """@count process pairs, the n-th from GPU n to the next, while all of them run."""
    pairs = [gpulib.Tcpx(b.programs, *(["host"] * 2 if b.args.host else
                                       ["cuda:%d" % (n % gpus), "cuda:%d" % ((n + 1) % gpus)]))
             for n in range(count)]
    for t in pairs:
        t.start(["-b", "64M", "-e", "64M", "--depth", "4", "--duration", "1"])
    rows = [t.finish()[-1] for t in pairs]
    each = [r["algbw_GBps"] for r in rows]
    return {64 * MIB: {"GBps": sum(each), "each": each, "slowest": min(each) / median(each),
                       "cpu_s_per_GB": sum(r["cpu_s_per_GB"] * r["algbw_GBps"]
                                           for r in rows) / sum(each),
                       "wrong": sum(r["wrong"] for r in rows)}}


def part_procs(b):
    """A process pair a GPU, all at once: each sends to the next GPU; then more pairs than GPUs."""
    gpus = 2 if b.args.host else need_two(b)
    counts = sorted({gpus, max(gpus, PAIRS)})
    s = b.rounds({"one pair": lambda i: at_once(b, 1, gpus),
                  **{"%d pairs" % n: lambda i, n=n: at_once(b, n, gpus) for n in counts}}, 5)
    for n in counts:
        name, what = "%d pairs" % n, "%d process pairs on %d GPUs at once" % (n, gpus)
        for field, form, said in (("GBps", "%.2f GB/s", what + ", in all"),
                                  ("cpu_s_per_GB", "%.3f s/GB", "CPU of both ends, " + what)):
            ratios = s.ratios(name, "one pair", 64 * MIB, field)
            b.row(said, form % s.median(name, 64 * MIB, field),
                  "one pair " + form % s.median("one pair", 64 * MIB, field), median(ratios),
                  gpulib.median_interval(ratios), None, len(ratios), s.wrong(name))
        b.row("the slowest of %s, of the median one" % what, "", "", s.median(
            name, 64 * MIB, "slowest"), None, None, len(s.values(name, 64 * MIB, "slowest")))
    return vars(s)
