#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NCCL plugin, and the tuner beside it, fit elsewhere: what they need, and what they show.
Usage: nccl_test.py PLUGIN TUNER"""
import re
import sys

import tap

FILES = plugin, tuner = sys.argv[1:3]
TABLES = ["ncclNetPlugin_v%d" % version for version in (10, 11, 12, 6, 7, 8, 9)]


def symbols(which, file):
    listing = tap.succeeds("nm", "-D", which, file)
    return sorted(line.split()[-1].split("@")[0] for line in listing.splitlines())


def they_need_libc_alone():
    for file in FILES:
        needed = re.findall(r"NEEDED.*\[(.*)\]", tap.succeeds("readelf", "-d", file))
        other = [name for name in needed
                 if not re.match(r"(libc|libm|libpthread|libdl|ld-linux[\w-]*)\.so", name)]
        assert needed and not other, "%s needs %s" % (file, " ".join(other))


def they_need_no_newer_symbols():
    for file in FILES:
        versions = re.findall(r"\bGLIBC_([0-9.]+)", tap.succeeds("objdump", "-T", file))
        new = [v for v in set(versions) if tuple(map(int, v.split("."))) > (2, 34)]
        assert versions and not new, "%s: %s" % (file, " ".join(new))


def they_show_their_tables_and_the_mark():
    names = symbols("--defined-only", plugin)
    assert names == TABLES + ["ncclTunerPlugin_v5", "tcpx_nccl_plugin"], " ".join(names)
    names = symbols("--defined-only", tuner)
    assert names == ["ncclTunerPlugin_v%d" % version for version in (2, 3, 4, 5)], " ".join(names)


def they_call_no_gpu_and_set_nothing_in_the_environment():
    names = symbols("--undefined-only", plugin) + symbols("--undefined-only", tuner)
    bad = [n for n in names if re.match(r"(cu|cuda|nccl)[A-Z]|setenv|putenv|unsetenv|clearenv", n)]
    assert not bad, " ".join(bad)


def they_stay_loaded_and_bind_their_symbols_to_themselves():
    for file in FILES:
        dynamic = tap.succeeds("readelf", "-d", file)
        assert "NODELETE" in dynamic and "SYMBOLIC" in dynamic, dynamic


tap.run([they_need_libc_alone,
         they_need_no_newer_symbols,
         they_show_their_tables_and_the_mark,
         they_call_no_gpu_and_set_nothing_in_the_environment,
         they_stay_loaded_and_bind_their_symbols_to_themselves])
