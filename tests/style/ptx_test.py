#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The GPU code in the tree as text belongs to its sources. Usage: ptx_test.py SOURCE-ROOT"""
import filecmp
import os
import re
import subprocess
import sys
import tempfile

import tap

os.chdir(sys.argv[1])
CARRIED = {"src/device/unpack.ptx": "src/device/unpack_kernels.cu",
           "src/tool/gpu/pattern.ptx": "src/tool/gpu/pattern_kernels.cu"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def the_text_is_of_the_present_source():
    for carried, source in CARRIED.items():
        with open(source, "rb") as f:
            checksum = subprocess.run(["cksum"], stdin=f, stdout=subprocess.PIPE, text=True,
                                      check=True).stdout.strip()
        assert checksum in read(carried), "%s is not of this %s: run scripts/ptx.sh" % (
            carried, source)


def the_compiler_makes_the_same_text_again():
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(["sh", "scripts/ptx.sh", out], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode == 77:
            raise tap.Skip(done.stdout.strip())
        assert done.returncode == 0, done.stdout
        for carried in CARRIED:
            made = os.path.join(out, carried)
            here, there = (re.search(r"Compiler: (clang \d+)", read(path)).group(1)
                           for path in (carried, made))
            if here != there:
                raise tap.Skip("%s is of %s, this is %s" % (carried, here, there))
            assert filecmp.cmp(carried, made, shallow=False), (
                "%s differs from what scripts/ptx.sh makes" % carried)


def drivers_of_cuda_11_4_can_load_it():
    for carried in CARRIED:
        text = read(carried)
        assert re.search(r"^\.version 7\.4$", text, re.M) and \
            re.search(r"^\.target sm_80$", text, re.M), carried


def data_passes_by_the_l1_cache():
    loads = re.findall(r"\bld\S*\.global\S*\.v4\S*", read("src/device/unpack.ptx"))
    assert loads, "no load of 16 bytes"
    others = {load for load in loads if "L1::no_allocate" not in load}
    assert not others, " ".join(sorted(others))


def no_thread_keeps_anything_in_local_memory():
    for carried in CARRIED:
        assert not re.search(r"\.local\b", read(carried)), "%s needs local memory" % carried


tap.run([the_text_is_of_the_present_source, the_compiler_makes_the_same_text_again,
         drivers_of_cuda_11_4_can_load_it, data_passes_by_the_l1_cache,
         no_thread_keeps_anything_in_local_memory])
