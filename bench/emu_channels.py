#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Channels on one NIC over the software plugin: is more of them slower, and do both sides agree?

    bench/emu_channels.py                       build/, 1, 2, 4 and 8 channels, 12 rounds
    bench/emu_channels.py --gpu --rounds 20     memory of GPUs in software

Each round measures every number of channels once, in an order that changes; a ratio is one of two
figures of the same round. Figures are those of a loopback: they say how the library drives a plugin,
nothing about GPUDirect-TCPX. The table is Markdown; exit code 1 if 4 channels are surely slower than
0.95 of one, or if the sides differ by more than 3 %.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys

from gpulib import ROOT, median, median_interval, trouble

NIC = "127.0.1.1"


def measure(args, channels):
    """Our GB/s, the server's, CPU seconds a GB, messages in flight, microseconds of each stage."""
    memory = "cuda:0" if args.gpu else "host"
    env = dict(os.environ, TCPX_PROVIDER="tcpx", TCPX_DEBUG="ERROR",
               TCPX_PLUGIN_PATH=os.path.join(args.bin, "emu/libnccl-net-tcpx-emu.so"),
               TCPX_EMU_NICS="%s=%s" % (NIC, NIC), TCPX_MAP="gpu0=" + NIC if args.gpu else "",
               TCPX_CUDA_LIBRARY=os.path.join(args.bin, "tests/fake/libcuda_fake.so")
               if args.gpu else "none",
               TCPX_EMU_MEMORY="auto" if args.gpu else "host", NCCL_DYNAMIC_CHUNK_SIZE="524288",
               NCCL_NSOCKS_PERTHREAD=str(args.sockets))
    out = subprocess.run(
        [os.path.join(args.bin, "tcpx"), "perf", "--self", "--nics", NIC, "--peer-nics", NIC,
         "--channels", str(channels), "-b", args.size, "-e", args.size, "-n", str(args.iters),
         "--mem", memory, "--peer-mem", memory, "--json", "-"],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
    if out.returncode:
        sys.exit("%d channels: exit code %d\n%s" % (channels, out.returncode,
                                                     out.stderr.decode()[-2000:]))
    rows = json.loads(out.stdout)["rows"]
    if trouble(rows, []):
        sys.exit("%d channels: %s" % (channels, trouble(rows, [])))
    return rows[0]


def text(values, digits=2):
    low_high = median_interval(values)
    return "%.*f%s" % (digits, median(values), " (%.*f to %.*f)" %
                       (digits, low_high[0], digits, low_high[1]) if low_high else "")


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default=os.path.join(ROOT, "build"), help="where tcpx lies")
    p.add_argument("--channels", default="1,2,4,8", help="the first is compared with")
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--size", default="64M")
    p.add_argument("--iters", type=int, default=20, help="timed transfers of a run")
    p.add_argument("--sockets", type=int, default=4, help="NCCL_NSOCKS_PERTHREAD")
    p.add_argument("--gpu", action="store_true", help="memory of GPUs in software")
    args = p.parse_args()

    counts = [int(c) for c in args.channels.split(",")]
    rows = {c: [] for c in counts}
    for r in range(args.rounds):
        for c in random.sample(counts, len(counts)):
            rows[c].append(measure(args, c))
        print("round %d of %d" % (r + 1, args.rounds), file=sys.stderr)

    first, worst, slow = counts[0], 0.0, False
    print("| channels | GB/s | of %d channel%s | CPU s/GB | in flight a channel |" %
          (first, "" if first == 1 else "s"))
    print("|---:|---|---|---|---:|")
    for c in counts:
        ratio = [a["algbw_GBps"] / b["algbw_GBps"] for a, b in zip(rows[c], rows[first])]
        worst = max([worst] + [abs(r["peer_algbw_GBps"] / r["algbw_GBps"] - 1) for r in rows[c]])
        if c == 4:
            high = median_interval(ratio)
            slow = (high[1] if high else median(ratio)) < 0.95
        print("| %d | %s | %s | %s | %.1f |" %
              (c, text([r["algbw_GBps"] for r in rows[c]]), text(ratio),
               text([r["cpu_s_per_GB"] for r in rows[c]]),
               median([r["in_flight"]["mean"] for r in rows[c]])))
    print("\nThe two sides' figures differ by %.2f %% at most." % (100 * worst))
    return 1 if slow or worst > 0.03 or math.isnan(worst) else 0


if __name__ == "__main__":
    sys.exit(main())
