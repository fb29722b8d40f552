#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of GPUs over the TCPX emulator: rates, relays, and whether every byte is right.

    bench/emu_gpu.py                        build/, two GPUs, 7 rounds of all
    bench/emu_gpu.py relay --rounds 12      only that part
    TCPX_CUDA_LIBRARY=build/tests/fake/libcuda_fake.so bench/emu_gpu.py --size 4M --rounds 2

Two NICs on loopback addresses, one near each GPU, and WRITE between the two places of one host.

gpus    from GPU 0 to GPU 1 and to itself, 1 and 4 channels over both NICs
relay   GPU 0 to itself, 4 channels: with the NIC of GPU 1 by a relay, with its own NIC alone
        (TCPX_RELAY=off), and with one NIC that is its own or the other's

A round measures each case once, in an order that turns round; a ratio is one of two figures of the
same round. Figures are the emulator's on one host: they say how the library drives a plugin on GPUs,
nothing about GPUDirect-TCPX. The tables are Markdown; exit code 1 if a byte was wrong or a case could
not be measured.
"""
import argparse
import json
import os
import sys

from gpulib import (ROOT, Failed, Programs, Tcpx, machine, median, median_interval,
                    take_rounds)

NEAR, FAR = "127.0.1.1", "127.0.2.1"
BOTH = NEAR + "," + FAR
OWN = {"TCPX_MAP": "gpu0=%s;gpu1=%s" % (NEAR, FAR)}


def cases(part):
    """name -> (far GPU, channels, NICs, settings)"""
    if part == "gpus":
        return {"GPU 0 to %d, %d channel%s" % (far, n, "s" if n > 1 else ""): (far, n, BOTH, OWN)
                for far in (1, 0) for n in (1, 4)}
    return {
        "both NICs": (0, 4, BOTH, OWN),
        "both named, TCPX_RELAY=off": (0, 4, BOTH, dict(OWN, TCPX_RELAY="off")),
        "its own NIC": (0, 4, NEAR, {"TCPX_MAP": "gpu0=" + NEAR}),
        "the other's NIC": (0, 4, FAR, {"TCPX_MAP": "gpu1=" + FAR}),
    }


def plugin(folder):
    for place in ("emu", ""):
        path = os.path.join(folder, place, "libnccl-net-tcpx-emu.so")
        if os.path.exists(path):
            return os.path.abspath(path)
    raise Failed("no libnccl-net-tcpx-emu.so below %s" % folder)


def settings(args):
    return {"TCPX_PROVIDER": "tcpx", "TCPX_PLUGIN_PATH": plugin(args.bin), "TCPX_DEBUG": "ERROR",
            "TCPX_EMU_MEMORY": "gpu", "NCCL_DYNAMIC_CHUNK_SIZE": "524288",
            "TCPX_EMU_NICS": "%s=%s,gpus=0;%s=%s,gpus=1" % (NEAR, NEAR, FAR, FAR),
            "NCCL_NSOCKS_PERTHREAD": str(args.sockets)}


def runner(args, case, commands):
    far, channels, nics, more = case
    ours = Tcpx(Programs(args.bin), "cuda:0", "cuda:%d" % far, commands)

    def measure(_):
        row = ours.perf(["--nics", nics, "--peer-nics", nics, "--channels", channels, "-b", args.size,
                         "-e", args.size, "-n", args.iters, "-w", 1],
                        dict(settings(args), **more), timeout=args.timeout)[-1]
        return {"": {"GBps": row["busbw_GBps"], "us_per_MB": row["time_us"]["mean"] / row["size"] * 1e6,
                     "cpu": row["cpu_s_per_GB"], "wrong": row["wrong"],
                     "unpack_us": row["stage_us"]["unpack"],
                     "shares": {n["nic"]: n["share"] for n in row["per_nic"]}}}
    return measure


def text(values):
    """Median and its interval at 95 %; below six values the range, said so."""
    low_high = median_interval(values)
    middle = median(values)
    digits = 3 if abs(middle) < 10 else 2 if abs(middle) < 100 else 0
    return "%.*f (%s%.*f to %.*f)" % ((digits, middle, "" if low_high else "range ") + sum(
        ((digits, v) for v in low_high or (min(values), max(values))), ()))


def share_text(shares):
    nics = sorted({n for s in shares for n in s})
    return ", ".join("%s %.1f %%" % (n, 100 * median([s.get(n, 0) for s in shares])) for n in nics)


def table(samples):
    print("| case | GB/s | us/MB | CPU s/GB | a chunk's unpacking, us | bytes by NIC | rounds | wrong bytes |")
    print("|---|---|---|---|---|---|---:|---:|")
    for name in samples.of:
        v = {f: samples.values(name, "", f) for f in ("GBps", "us_per_MB", "cpu", "unpack_us", "shares")}
        print("| %s | %s | %s | %s | %s | %s | %d | %d |" % (
            name, text(v["GBps"]), text(v["us_per_MB"]), text(v["cpu"]), text(v["unpack_us"]),
            share_text(v["shares"]), len(v["GBps"]), samples.wrong(name)))


def ratios(samples):
    print("\n| of the same round | time of a byte | CPU of a byte |")
    print("|---|---|---|")
    for ours, other in (("both NICs", "both named, TCPX_RELAY=off"),
                        ("the other's NIC", "its own NIC")):
        print("| %s / %s | %s | %s |" % (ours, other,
                                       text(samples.ratios(ours, other, "", "us_per_MB")),
                                       text(samples.ratios(ours, other, "", "cpu"))))


def run_part(args, part, record):
    commands = []
    runners = {name: runner(args, c, commands) for name, c in cases(part).items()}
    samples = take_rounds(runners, 0, float("inf"), args.rounds, args.rounds)
    print("\n## %s\n" % part)
    table(samples)
    if part == "relay":
        ratios(samples)
    for error in samples.errors:
        print("\nA round was lost: %s" % error)
    record[part] = {"values": samples.of, "errors": samples.errors, "commands": commands}
    return bool(samples.errors or any(samples.wrong(name) for name in samples.of))


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("part", nargs="*", metavar="PART", help="gpus, relay (both)")
    p.add_argument("--bin", default=os.path.join(ROOT, "build"), help="where tcpx lies")
    p.add_argument("--rounds", type=int, default=7, help="intervals need six (7)")
    p.add_argument("--size", default="64M", help="of a transfer (64M)")
    p.add_argument("--iters", type=int, default=3, help="timed transfers of a run (3)")
    p.add_argument("--sockets", type=int, default=4, help="NCCL_NSOCKS_PERTHREAD (4)")
    p.add_argument("--timeout", type=int, default=90, help="seconds of a run (90)")
    p.add_argument("--json", metavar="FILE", help="all values, the machine and the commands")
    args = p.parse_args()

    if set(args.part) - {"gpus", "relay"}:
        p.error("'%s': the parts are gpus and relay" % " ".join(args.part))
    if args.rounds < 1:
        p.error("--rounds %d: 1 or more" % args.rounds)
    record, bad = {"machine": machine()}, False
    m = record["machine"]
    print("%d x %s, Linux %s, %s" % (m["cpus"], m["model"], m["kernel"],
                                     "; ".join(m["gpus"]) or "GPUs in software"))
    try:
        for part in args.part or ["gpus", "relay"]:
            bad |= run_part(args, part, record)
    except Failed as e:
        print("emu_gpu.py: %s" % e, file=sys.stderr)
        bad = True
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(record, f, indent=1)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
