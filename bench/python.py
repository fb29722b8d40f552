#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python costs: a 4 KiB write with note beside the same loop in C, on the same engines; and
the bandwidth of large writes beside `tcpx perf`. Interleaved rounds, medians. Loopback.

    bench/python.py [--build DIR] [--rounds N] [--gpu 0,1]

With --gpu the memory of the bandwidth is that of two GPUs: sender, receiver.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
from array import array

import gpulib

SIZE, BURST = 4096, 500
BIG, DEPTH, TIMES = 64 << 20, 4, 24


def gpu_memory(ordinal, nbytes):
    """GPU memory under the interface of GPU arrays, by the driver alone."""
    cuda = ctypes.CDLL(os.environ.get("TCPX_CUDA_LIBRARY") or "libcuda.so.1")
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    for call, *words in (("cuInit", 0),
                         ("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal),
                         ("cuCtxPushCurrent_v2", context),
                         ("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(nbytes))):
        result = getattr(cuda, call)(*words)
        if result:
            sys.exit("%s: CUDA error %d" % (call, result))

    class Array:
        __cuda_array_interface__ = {"data": (address.value, False), "shape": (nbytes,),
                                    "typestr": "|u1", "version": 3}
    return Array()


def memory(gpu, nbytes):
    """Each page touched, so that none is the kernel's page of zeros."""
    return bytearray(b"\x5a") * nbytes if gpu is None else gpu_memory(gpu, nbytes)


def latency(build, rounds):
    """Medians of rounds: us of a write with note, in C and in Python."""
    import tcpx
    cost = ctypes.CDLL(os.path.join(build, "bench/python_cost.so")).python_cost
    cost.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_uint]
    with tcpx.Engine("a") as a, tcpx.Engine("b") as b:
        region = b.register(bytearray(SIZE), tcpx.REMOTE_WRITE)
        peer = a.add_peer(b.metadata())
        local, remote = a.register(bytearray(SIZE)), a.import_region(region.export())
        peer.wait(30)
        mine, theirs = local[:], remote[:]
        took = array("d", bytes(8 * BURST))
        out = {"C": [], "Python": []}
        for _ in range(rounds + 1):
            code = cost(peer._handle, b._handle, mine.words.buffer_info()[0],
                        theirs.words.buffer_info()[0], took.buffer_info()[0], BURST)
            assert code == 0, code
            out["C"].append(gpulib.median(took))
            for i in range(BURST):
                began = time.perf_counter_ns()
                transfer = peer.write(local, remote, b"n" * 16)
                transfer.wait()
                b.wait_note()
                del transfer
                took[i] = (time.perf_counter_ns() - began) / 1e3
            out["Python"].append(gpulib.median(took))
        return {name: values[1:] for name, values in out.items()}  # the first warms up


def receive(gpu):
    """The other process of bandwidth(): lends memory until its standard input ends."""
    import tcpx
    with tcpx.Engine("receiver") as engine:
        region = engine.register(memory(gpu, DEPTH * BIG), tcpx.REMOTE_WRITE)
        print(engine.metadata().hex(), region.export().hex(), flush=True)
        sys.stdin.read()


def python_rate(gpus):
    """GB/s of TIMES writes of BIG bytes, DEPTH in flight, each from and to memory of its own."""
    import tcpx
    words = [] if gpus is None else ["--gpu", str(gpus[1])]
    with subprocess.Popen([sys.executable, os.path.abspath(__file__), "--receive"] + words,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child, \
            tcpx.Engine("sender") as engine:
        metadata, blob = map(bytes.fromhex, child.stdout.readline().split())
        peer, remote = engine.add_peer(metadata), engine.import_region(blob)
        local = engine.register(memory(gpus and gpus[0], DEPTH * BIG))
        pairs = [(local.piece(i * BIG, BIG), remote.piece(i * BIG, BIG)) for i in range(DEPTH)]
        for i in range(5):
            peer.write(*pairs[i % DEPTH]).wait()
        began, posted = time.perf_counter(), []
        for i in range(TIMES):
            if len(posted) == DEPTH:
                posted.pop(0).wait()
            posted.append(peer.write(*pairs[i % DEPTH]))
        for transfer in posted:
            transfer.wait()
        rate = TIMES * BIG / (time.perf_counter() - began) / 1e9
        child.stdin.close()
    return rate


def perf_rate(build, gpus):
    places = [] if gpus is None else ["--mem", "cuda:%d" % gpus[0], "--peer-mem",
                                      "cuda:%d" % gpus[1]]
    done = subprocess.run(
        [os.path.join(build, "tcpx"), "perf", "--self", "-b", str(BIG), "-n", str(TIMES), "--depth",
         str(DEPTH), "-e", str(BIG), "-c", "0", "--json", "-"] + places,
        stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["rows"][0]["algbw_GBps"]


def show(what, unit, values):
    print("%-34s %8.2f %s  (%.2f to %.2f)" % (what, gpulib.median(values), unit, min(values),
                                              max(values)))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--build", default=os.path.join(gpulib.ROOT, "build"))
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--gpu", help="GPUs of sender and receiver: 0,1")
    options.add_argument("--receive", action="store_true", help=argparse.SUPPRESS)
    o = options.parse_args()
    sys.path.insert(0, os.path.join(gpulib.ROOT, "python"))
    os.environ.setdefault("PYTHON_TCPX_LIBRARY", os.path.join(o.build, "src/lib/libtcpx-p2p.so.0"))
    os.environ.setdefault("TCPX_NICS", "127.0.0.1")
    if o.receive:
        receive(None if o.gpu is None else int(o.gpu))
        return
    gpus = None if o.gpu is None else [int(one) for one in o.gpu.split(",")]
    took = latency(o.build, o.rounds)
    show("4 KiB write with note, C", "us", took["C"])
    show("4 KiB write with note, Python", "us", took["Python"])
    show("Python costs more", "us", [p - c for p, c in zip(took["Python"], took["C"])])
    rates = [(perf_rate(o.build, gpus), python_rate(gpus)) for _ in range(o.rounds)]
    show("64 MiB writes, tcpx perf", "GB/s", [perf for perf, _ in rates])
    show("64 MiB writes, Python", "GB/s", [python for _, python in rates])
    show("Python / tcpx perf", "", [python / perf for perf, python in rates])


if __name__ == "__main__":
    main()
