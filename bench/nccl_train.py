#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training under torch over NCCL's sockets, default and tuned, beside our plugin: DDP and FSDP, steps a second.

    bench/nccl_train.py --out OUT [--bin build] [--gpus 0,0] [--seconds 200] [--null]
    bench/nccl_train.py --out OUT --gpus 0,0,0,0 --fixed

Needs torch with NCCL and a GPU for each rank, or one for several under CUDA MPS. Each side has its ranks, which
stay; each is a node of its own for NCCL, over this machine's loopback. Sides take turns in rounds. The model is
16 layers of 2048 x 2048 (67 million parameters, buckets of 25 MiB) and a batch of 8 a rank: bound by its gradients.

All sides begin each run with the same weights and data, so two ranks must end with the same weights bit for bit,
whatever the order of sums. With --fixed, algorithm, protocol and channels of NCCL are the same for both sides
(Ring, Simple, 4), and so must be the sums of four ranks. --null adds a plugin that moves nothing and takes no time
(bench/nccl_null.c, NCCL_PROTO=Simple): its weights are wrong, and are not compared.

OUT gets nccl_train.json and nccl_train.md.
"""
import argparse
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

import gpulib
import nccl
from gpulib import KIB, MIB, Failed

FIXED = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_MIN_NCHANNELS": "4", "NCCL_MAX_NCHANNELS": "4",
         "NCCL_NTHREADS": "512"}  # else it depends on the NICs' speed, and with it a small one's channels
STEPS = {"ddp": 20, "fsdp": 10}
SUMS = [4 * KIB, 64 * KIB, MIB + 4, 16 * MIB, 64 * MIB]


# ---- a rank ----------------------------------------------------------------------------------------

class KeepsBuckets:
    """
    DDP's reducer, but the buckets stay as they are at first. Else rank 0 would send the new ones, as it would shapes
    but for init_sync, and what does not come over the null plugin would end the other ranks.
    """

    def __init__(self, reducer):
        self.reducer = reducer

    def __getattr__(self, name):
        return getattr(self.reducer, name)

    def _rebuild_buckets(self):
        return False


class Worker:
    def __init__(self, me, world, store, gpu, width, layers):
        import torch
        import torch.distributed as dist
        self.torch, self.dist, self.me, self.width, self.layers = torch, dist, me, width, layers
        self.device = "cuda:%d" % gpu if torch.cuda.is_available() else "cpu"
        if self.device != "cpu":
            torch.cuda.set_device(gpu)
        dist.init_process_group("gloo" if self.device == "cpu" else "nccl", init_method="file://" + store, rank=me,
                                world_size=world)

    def model(self):
        self.torch.manual_seed(1)
        return self.torch.nn.Sequential(*[self.torch.nn.Linear(self.width, self.width)
                                          for _ in range(self.layers)]).to(self.device)

    def digest(self, tensors):
        """Of all bits, exactly: whole numbers that wrap."""
        total = 0
        for t in tensors:
            bits = t.detach().contiguous().view(self.torch.int32).flatten().long()
            total = total * 31 + (bits * self.torch.arange(1, len(bits) + 1, device=bits.device)).sum().item()
        return "%016x" % (total % (1 << 64))

    def wait(self):
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def steps(self, model, count):
        optimizer = self.torch.optim.SGD(model.parameters(), lr=0.01)
        self.torch.manual_seed(100 + self.me)
        data = [self.torch.randn(8, self.width, device=self.device) for _ in range(4)]
        for step in range(count + 3):
            if step == 3:  # the first ones connect
                self.wait()
                self.dist.barrier()
                self.wait()
                began = time.monotonic()
            optimizer.zero_grad()
            model(data[step % 4]).square().mean().backward()
            optimizer.step()
        self.wait()
        return count / (time.monotonic() - began)

    def ddp(self, count):
        null = os.environ.get("NCCL_NET") == "null"
        model = self.torch.nn.parallel.DistributedDataParallel(self.model(), bucket_cap_mb=25,
                                                               **({"init_sync": False} if null else {}))
        if null:
            model.reducer = KeepsBuckets(model.reducer)
        rate = self.steps(model, count)
        return {"steps_s": rate, "digest": self.digest(model.parameters())}

    def fsdp(self, count):
        from torch.distributed.fsdp import fully_shard
        model = self.model()
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        rate = self.steps(model, count)
        return {"steps_s": rate, "digest": self.digest(p.to_local() for p in model.parameters())}

    def sums(self, _):
        self.torch.manual_seed(200 + self.me)
        digests = []
        for size in SUMS:
            x = self.torch.randn(size // 4, device=self.device)
            self.dist.all_reduce(x)
            digests.append(self.digest([x]))
        return {"digest": " ".join(digests)}

    def serve(self):
        print(json.dumps({"torch": self.torch.__version__}), flush=True)
        for line in sys.stdin:
            verb, count = line.split()
            try:
                answer = getattr(self, verb)(int(count))
            except ImportError as why:
                answer = {"error": str(why)}
            print(json.dumps(answer), flush=True)
        self.dist.destroy_process_group()


# ---- a side ----------------------------------------------------------------------------------------

class Side:
    """The ranks of one net."""

    def __init__(self, name, settings, o):
        self.name, self.folder = name, tempfile.TemporaryDirectory(prefix="train-")
        gpus = o.gpus.split(",")
        self.ranks, self.rest, self.errors = [], [], []
        for me, gpu in enumerate(gpus):
            env = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "TCPX_"))}
            env.update(settings, NCCL_HOSTID="train-%d" % me, NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,ENV",
                       NCCL_DEBUG_FILE=os.path.join(self.folder.name, "log.%d" % me), GLOO_SOCKET_IFNAME="lo",
                       CUBLAS_WORKSPACE_CONFIG=":4096:8")
            argv = [sys.executable, os.path.abspath(__file__), "--rank", str(me), str(len(gpus)),
                    os.path.join(self.folder.name, "store"), gpu, str(o.width), str(o.layers)]
            self.errors.append(tempfile.TemporaryFile("w+"))
            self.ranks.append(subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                               stderr=self.errors[-1], start_new_session=True))
            self.rest.append(b"")

    def read(self, me, until):
        while b"\n" not in self.rest[me]:
            left = until - time.monotonic()
            out = self.ranks[me].stdout.fileno()
            more = os.read(out, 65536) if left > 0 and select.select([out], [], [], left)[0] else b""
            if not more:
                self.errors[me].seek(0)
                raise Failed("%s, rank %d: %s: %s" % (self.name, me, "ended" if left > 0 else "no answer",
                                                      self.errors[me].read()[-400:]))
            self.rest[me] += more
        line, self.rest[me] = self.rest[me].split(b"\n", 1)
        return json.loads(line)

    def answers(self, timeout):
        until = time.monotonic() + timeout
        return [self.read(me, until) for me in range(len(self.ranks))]

    def ask(self, verb, count, timeout=90):
        for r in self.ranks:
            r.stdin.write(b"%s %d\n" % (verb.encode(), count))
            r.stdin.flush()
        return self.answers(timeout)

    def close(self, quick=False):
        """What NCCL's log says."""
        for r in self.ranks:
            try:
                r.stdin.close()
                r.wait(0.1 if quick else 15)
            except (OSError, subprocess.TimeoutExpired):
                os.killpg(r.pid, signal.SIGKILL)
                r.wait()
        log = os.path.join(self.folder.name, "log.0")
        text = open(log, errors="replace").read() if os.path.exists(log) else ""
        ways, named = nccl.used(text)
        self.folder.cleanup()
        return "%s: %s; %s" % (self.name, named or "no line \"Using network\"", ways)


# ---- rounds ----------------------------------------------------------------------------------------

def verdicts(got):
    """Of the digests of one verb: {"ranks": all ranks of a side alike, "sides": all sides alike}, but for null"""
    sets = [[a["digest"] for a in answers] for name, rounds in got.items() if name != "null" for answers in rounds]
    return {"ranks": all(len(set(s)) == 1 for s in sets), "sides": len({tuple(s) for s in sets}) == 1}


def rounds(sides, until, verbs):
    got = {verb: {name: [] for name in sides} for verb in verbs}
    number = 0
    while number < 9 and (number < 1 or time.monotonic() < until):
        for verb in [v for v in verbs if number == 0 or v != "sums"]:
            for name in list(sides)[::-1] if number % 2 else list(sides):
                answers = sides[name].ask(verb, STEPS.get(verb, 1))
                if "error" in answers[0]:
                    print("%s: %s" % (verb, answers[0]["error"]), file=sys.stderr)
                    got.pop(verb, None)
                    break
                got[verb][name].append(answers)
        verbs = [v for v in verbs if v in got]
        number += 1
    return got


def table(got, names):
    others = [n for n in names if n != "ours"]
    lines = ["| | %s | %s | weights of all ranks | of all sides | rounds |" % (
        " | ".join(n + ", steps/s" for n in names), " | ".join("ours / " + n for n in others)),
        "|---|" + "---:|" * (len(names) + len(others)) + "---|---|---:|"]
    for verb, of in got.items():
        same = verdicts(of)
        rates = {n: [answers[0].get("steps_s") for answers in of[n]] for n in names}
        cells, ratios = [""] * len(names), [""] * len(others)
        if verb != "sums":
            cells = ["%.2f" % gpulib.median(rates[n]) for n in names]
            for i, n in enumerate(others):
                values = [a / b for a, b in zip(rates["ours"], rates[n])]
                interval = gpulib.median_interval(values)
                ratios[i] = "%.2f" % gpulib.median(values) + (" (%.2f to %.2f)" % interval if interval else "")
        lines.append("| %s | %s | %s | %s | %s | %d |" % (
            {"ddp": "DDP", "fsdp": "FSDP", "sums": "sums"}[verb], " | ".join(cells), " | ".join(ratios),
            "of parts" if verb == "fsdp" else "equal" if same["ranks"] else "**DIFFERENT**",
            "equal" if same["sides"] else "**DIFFERENT**", len(of[names[0]])))
    return lines


def main():
    if sys.argv[1:2] == ["--rank"]:
        me, world, store, gpu, width, layers = sys.argv[2:8]
        return Worker(int(me), int(world), store, int(gpu), int(width), int(layers)).serve()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--bin", default=os.path.join(gpulib.ROOT, "build"))
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--gpus", default="0,1", help="of the ranks (0,1)")
    parser.add_argument("--fixed", action="store_true", help="the same algorithm and channels; default and ours")
    parser.add_argument("--null", action="store_true", help="a net that takes no time, too")
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=16)
    o = parser.parse_args()
    os.makedirs(o.out, exist_ok=True)
    until = time.monotonic() + o.seconds
    known = nccl.sides(gpulib.Programs(o.bin), o.null, None)
    settings = {name: dict(known[name], **(FIXED if o.fixed else {}))
                for name in ("default", "tuned", "ours", "null") if name in known and (name != "tuned" or not o.fixed)}
    sides, got, logs, failed = {}, {}, [], None
    try:
        for name in settings:
            sides[name] = Side(name, settings[name], o)
        for side in sides.values():
            side.answers(120)
        got = rounds(sides, until - 30, ["sums", "ddp", "fsdp"])
    except Failed as why:
        failed = str(why)
    logs = [side.close(failed is not None) for side in sides.values()]
    text = "\n".join(table(got, list(settings)) + [""] + logs + (["FAILED: " + failed] if failed else [])) + "\n"
    print(text)
    with open(os.path.join(o.out, "nccl_train.md"), "w", encoding="utf-8") as f:
        f.write(text)
    with open(os.path.join(o.out, "nccl_train.json"), "w", encoding="utf-8") as f:
        json.dump({"machine": gpulib.machine(), "options": vars(o), "sides": settings, "got": got, "logs": logs,
                   "failed": failed}, f, indent=1)
    return 1 if failed or not all(verdicts(of)["sides"] for of in got.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
