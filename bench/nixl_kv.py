#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vLLM's request by NIXL's own agent: 40,064 blocks of 7,987 bytes, shuffled, READ with a note from
another process; beside the same bytes as one block, in turns. Every byte is compared.

Usage: nixl_kv.py [--backend TCPX] [--rounds 7] [--no-progress-thread]

Needs NIXL's Python package and numpy; NIXL_PLUGIN_DIR names the folder of the plugin.
"""
import argparse
import multiprocessing
import statistics
import time

import numpy

COUNT, LENGTH = 40064, 7987


def open_agent(name, options, content):
    from nixl._api import nixl_agent, nixl_agent_config
    agent = nixl_agent(name, nixl_agent_config(enable_prog_thread=options.progress,
                                               backends=[options.backend]))
    memory = numpy.empty(COUNT * LENGTH, dtype=numpy.uint8)
    memory[:] = content
    agent.register_memory([(memory.ctypes.data, memory.nbytes, 0, "")], "DRAM")
    return agent, memory


def content_of(seed):
    return numpy.random.default_rng(seed).integers(0, 256, COUNT * LENGTH, dtype=numpy.uint8)


def target(pipe, options):
    agent, memory = open_agent("target", options, content_of(1))
    pipe.send((agent.get_agent_metadata(), memory.ctypes.data))
    notes = 0
    while not pipe.poll():
        notes += sum(len(texts) for texts in agent.get_new_notifs().values())
    pipe.recv()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and notes < 2 * options.rounds + 1:
        notes += sum(len(texts) for texts in agent.get_new_notifs().values())
    pipe.send(notes)
    pipe.recv()


def blocks(base):
    table = numpy.zeros((COUNT, 3), dtype=numpy.uint64)
    table[:, 0] = base + numpy.arange(COUNT, dtype=numpy.uint64) * LENGTH
    table[:, 1] = LENGTH
    return table


def finish(agent, handle):
    while True:
        state = agent.check_xfer_state(handle)
        if state != "PROC":
            assert state == "DONE", state
            return


class Times(dict):
    def clock(self, name, call, *words):
        begin = time.perf_counter()
        value = call(*words)
        self.setdefault(name, []).append(time.perf_counter() - begin)
        return value


def measure(agent, memory, there, options):
    times, order = Times(), numpy.random.default_rng(2)
    content = content_of(1).reshape(COUNT, LENGTH)
    view = memory.reshape(COUNT, LENGTH)
    one = agent.initialize_xfer(
        "READ", agent.get_xfer_descs([(memory.ctypes.data, memory.nbytes, 0)], "DRAM"),
        agent.get_xfer_descs([(there, memory.nbytes, 0)], "DRAM"), "target", b"warm")
    agent.transfer(one)
    finish(agent, one)
    mine = times.clock("prepare lists", agent.prep_xfer_dlist, "NIXL_INIT_AGENT",
                       blocks(memory.ctypes.data), "DRAM")
    theirs = agent.prep_xfer_dlist("target", blocks(there), "DRAM")
    for _ in range(options.rounds):
        here = order.permutation(COUNT).astype(numpy.int32)
        far = order.permutation(COUNT).astype(numpy.int32)
        memory[:] = 0
        begin = time.perf_counter()
        many = times.clock("make", agent.make_prepped_xfer, "READ", mine, here, theirs, far, b"note")
        times.clock("post", agent.transfer, many)
        finish(agent, many)
        shuffled = time.perf_counter() - begin
        assert (view[here] == content[far]).all(), "wrong bytes"
        begin = time.perf_counter()
        agent.transfer(one, b"whole")
        finish(agent, one)
        whole = time.perf_counter() - begin
        times.clock("free", agent.release_xfer_handle, many)
        for name, seconds in (("shuffled", shuffled), ("whole", whole)):
            times.setdefault(name + " GB/s", []).append(memory.nbytes / seconds / 1e9)
        times.setdefault("shuffled / whole", []).append(whole / shuffled)
    agent.release_xfer_handle(one)
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="TCPX")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-progress-thread", dest="progress", action="store_false")
    options = parser.parse_args()
    pipe, far_end = multiprocessing.get_context("spawn").Pipe()
    child = multiprocessing.get_context("spawn").Process(target=target, args=(far_end, options))
    child.start()
    metadata, there = pipe.recv()
    agent, memory = open_agent("initiator", options, 0)
    agent.add_remote_agent(metadata)
    times = measure(agent, memory, there, options)
    pipe.send("count")
    notes = pipe.recv()
    pipe.send("end")
    child.join()
    print("%s, progress thread %s, %d rounds: median [min..max], times in ms; %d notes"
          % (options.backend, "on" if options.progress else "off", options.rounds, notes))
    for name, values in times.items():
        scale = 1 if "GB/s" in name or "/" in name else 1e3
        values = [value * scale for value in values]
        print("%-18s %9.3f [%.3f..%.3f]" % (name, statistics.median(values), min(values), max(values)))
    assert notes == 2 * options.rounds + 1, "notes"


if __name__ == "__main__":
    main()
