#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Communicators that come and go in one process, and processes that exit at any moment, under torch.

    bench/nccl_life.py --out OUT [--bin build] [--cycles 20] [--exits 100] [--side ours|sockets]

Needs torch with NCCL and one GPU, without MPS: who exits within a kernel there may take others along.

First, two processes make a communicator, use it, compare, and destroy it, 20 times; after each, the threads,
descriptors, mappings and memory of both are counted, and NCCL's log says which net it used. Twice: as it is,
and with NCCL_NET_PLUGIN_REF_COUNT=1, without which NCCL 2.27 to 2.29 lose the plugin after the first.

Then pairs of processes exit at a random moment, most of them inside a transfer: by _exit(), by exit() beside
running threads, by the end of Python. Each must be gone in 20 seconds, with code 0. OUT gets nccl_life-SIDE.json.
"""
import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time

import gpulib
from gpulib import MIB

WAYS = ("_exit", "exit", "python")
HANG_S = 20


def on_gpu():
    return os.path.exists("/dev/nvidiactl")  # asking CUDA would spoil it for forked processes


def begin(me, store):
    import torch
    import torch.distributed as dist
    dist.init_process_group("nccl" if on_gpu() else "gloo", init_method="file://" + store, rank=me, world_size=2)
    return torch, dist, "cuda" if on_gpu() else "cpu"


def environment(side, plugin, me, log, more):
    os.environ.update(NCCL_HOSTID="life-%d" % me, NCCL_IB_DISABLE="1", NCCL_SOCKET_IFNAME="lo",
                      GLOO_SOCKET_IFNAME="lo", NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT", NCCL_DEBUG_FILE=log,
                      NCCL_NET_PLUGIN=plugin if side == "ours" else "none",
                      CUDA_MPS_PIPE_DIRECTORY="/nonexistent", **more)


def nets_of(path):
    """What NCCL's log says that it used, once for each communicator."""
    try:
        with open(path, errors="replace") as f:
            return [line.split("Using network ")[1].strip() for line in f if "Using network" in line]
    except OSError:
        return []


# ---- come and go -----------------------------------------------------------------------------------

def counts():
    with open("/proc/self/maps") as f:
        maps = sum(1 for _ in f)
    with open("/proc/self/status") as f:
        kib = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    return {"threads": len(os.listdir("/proc/self/task")), "descriptors": len(os.listdir("/proc/self/fd")),
            "mappings": maps, "MiB": kib >> 10}


def cycle(me, folder, number):
    torch, dist, device = begin(me, os.path.join(folder, "store%d" % number))
    x = torch.arange(MIB, dtype=torch.int32, device=device) + me
    dist.all_reduce(x)
    right = torch.equal(x, torch.arange(MIB, dtype=torch.int32, device=device) * 2 + 1)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # what ends by itself has ended
    return dict(counts(), right=right)


def fork(work):
    """A process that does it; its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            code = work() or 0
        finally:
            os._exit(code)
    return pid


def gone(pid, timeout):
    """Its exit code, negative for a signal; None: it did not end, and was killed."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def cycles(o, plugin, more):
    with tempfile.TemporaryDirectory(prefix="life-") as folder:
        def work(me):
            environment(o.side, plugin, me, os.path.join(folder, "log%d" % me), more)
            with open(os.path.join(folder, "rows%d" % me), "w") as f:
                for i in range(o.cycles):
                    print(json.dumps(cycle(me, folder, i)), file=f, flush=True)

        pids = [fork(lambda me=me: work(me)) for me in (0, 1)]
        codes = [gone(pid, 30 + 5 * o.cycles) for pid in pids]
        rows, nets = [], []
        for me in (0, 1):
            with open(os.path.join(folder, "rows%d" % me)) as f:
                rows.append([json.loads(line) for line in f])
            nets.append(nets_of(os.path.join(folder, "log%d" % me)))
    return {"settings": more, "codes": codes, "rows": rows, "nets": nets}


def cycles_text(got):
    lines = ["%s: exit codes %s, %d results right of %d" % (
        got["settings"] or "as it is", got["codes"], sum(r["right"] for rows in got["rows"] for r in rows),
        sum(len(rows) for rows in got["rows"]))]
    for me, rows in enumerate(got["rows"]):
        if len(rows) > 2:
            lines.append("  process %d: " % me + ", ".join("%s %s, %s, ... %s, %s" % (
                what, rows[0][what], rows[1][what], rows[-2][what], rows[-1][what]) for what in rows[0] if what != "right"))
    for me, nets in enumerate(got["nets"]):
        lines.append("  process %d used %s" % (me, {net: nets.count(net) for net in nets}))
    return "\n".join(lines)


# ---- exits -----------------------------------------------------------------------------------------

def transfer_until_exit(me, store, way, mib, after_s):
    """Exits @after_s after its first all-reduce; it never waits in a call, so that the timer comes through."""
    torch, dist, device = begin(me, store)
    x = torch.ones(mib * MIB // 4, dtype=torch.int32, device=device)

    def leave(*_):
        if way == "python":
            raise SystemExit
        if way == "exit":
            sys.stdout.flush()
            ctypes.CDLL(None).exit(0)
        os._exit(0)

    signal.signal(signal.SIGALRM, leave)
    work = dist.all_reduce(x, async_op=True)
    while not work.is_completed():
        time.sleep(0)
    signal.setitimer(signal.ITIMER_REAL, after_s)
    while True:
        work = [dist.all_reduce(x, async_op=True) for _ in range(4)]
        while not all(w.is_completed() for w in work):
            time.sleep(0)


def leaving(o, plugin, folder, number, me, plan):
    def work():
        environment(o.side, plugin, me, os.path.join(folder, "log%d.%d" % (number, me)),
                    {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"})  # else torch ends whoever is left for a moment
        null = os.open(os.path.join(folder, "said%d.%d" % (number, me)), os.O_WRONLY | os.O_CREAT)
        os.dup2(null, 1)
        os.dup2(null, 2)
        transfer_until_exit(me, os.path.join(folder, "store%d" % number), *plan)

    pid = os.fork()
    if pid == 0:
        os.setsid()
        if plan[0] != "python":
            try:
                work()
            finally:
                os._exit(3)
        work()  # SystemExit goes up through main(), to the end of Python
        os._exit(3)
    return pid


def exits(o, plugin, until):
    import torch.distributed  # once, for all that are forked
    rng = random.Random(o.seed)
    tally = {way: {"right": 0, "crash": 0, "hang": 0, "other": 0} for way in WAYS}
    bad, nets, number = [], {}, 0
    folder = tempfile.mkdtemp(prefix="life-")  # no "with": a forked process would leave it, too
    while number < o.exits and time.monotonic() < until:
        pairs = []
        for _ in range(min(o.at_once, o.exits - number)):
            mib, moment = rng.choice((1, 4, 16, 64)), rng.uniform(0, 0.3)
            ways = [rng.choice(WAYS) for _ in range(2)]
            plans = [(way, mib, max(0.001, moment + rng.uniform(0, 0.02))) for way in ways]
            pairs.append((number, ways, [leaving(o, plugin, folder, number, me, plans[me]) for me in (0, 1)]))
            number += 1
        for n, ways, pids in pairs:
            for me in (0, 1):
                code = gone(pids[me], HANG_S + 10)
                what = "hang" if code is None else "right" if code == 0 else "crash" if code < 0 else "other"
                tally[ways[me]][what] += 1
                for net in nets_of(os.path.join(folder, "log%d.%d" % (n, me))):
                    nets[net] = nets.get(net, 0) + 1
                if what != "right":
                    with open(os.path.join(folder, "said%d.%d" % (n, me)), errors="replace") as f:
                        bad.append({"pair": n, "way": ways[me], "what": what, "code": code,
                                    "said": f.read()[-1500:]})
    shutil.rmtree(folder)
    return {"pairs": number, "tally": tally, "nets": nets, "bad": bad[:20]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--bin", default=os.path.join(gpulib.ROOT, "build"))
    parser.add_argument("--plugin", help="file (that of --bin)")
    parser.add_argument("--side", default="ours", choices=("ours", "sockets"))
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--exits", type=int, default=100, help="pairs of processes (100)")
    parser.add_argument("--at-once", type=int, default=4, help="pairs at once (4)")
    parser.add_argument("--seconds", type=float, default=180, help="of the exits (180)")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    plugin = os.path.abspath(o.plugin or gpulib.Programs(o.bin).plugin()) if o.side == "ours" else "none"
    os.makedirs(o.out, exist_ok=True)
    record = {"machine": gpulib.machine(), "options": vars(o), "cycles": []}
    for more in ({}, {"NCCL_NET_PLUGIN_REF_COUNT": "1"}) if o.side == "ours" else ({},):
        record["cycles"].append(cycles(o, plugin, more))
        print(cycles_text(record["cycles"][-1]), flush=True)
    record["exits"] = exits(o, plugin, time.monotonic() + o.seconds)
    print("%d pairs exited: %s; they used %s" % (record["exits"]["pairs"], record["exits"]["tally"],
                                                 record["exits"]["nets"]))
    for b in record["exits"]["bad"][:3]:
        print(b)
    with open(os.path.join(o.out, "nccl_life-%s.json" % o.side), "w", encoding="utf-8") as f:
        json.dump(record, f, indent=1)
    meant = {"tcpx-p2p" if o.side == "ours" else "Socket"}
    return 1 if record["exits"]["bad"] or set(record["exits"]["nets"]) != meant else 0


if __name__ == "__main__":
    sys.exit(main())
