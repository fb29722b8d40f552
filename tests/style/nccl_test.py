#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NCCL plugin is one file that fits elsewhere: what it needs, and what it shows.
Usage: nccl_test.py PLUGIN"""
import re
import sys

import tap

plugin = sys.argv[1]
TABLES = ["ncclNetPlugin_v%d" % version for version in (10, 11, 12, 6, 7, 8, 9)]


def it_needs_libc_alone():
    needed = re.findall(r"NEEDED.*\[(.*)\]", tap.succeeds("readelf", "-d", plugin))
    other = [name for name in needed
             if not re.match(r"(libc|libm|libpthread|libdl|ld-linux[\w-]*)\.so", name)]
    assert needed and not other, "needed: " + " ".join(other)


def it_needs_no_newer_symbols():
    versions = re.findall(r"\bGLIBC_([0-9.]+)", tap.succeeds("objdump", "-T", plugin))
    new = [v for v in set(versions) if tuple(map(int, v.split("."))) > (2, 34)]
    assert versions and not new, " ".join(new)


def it_shows_its_tables_and_its_mark():
    listing = tap.succeeds("nm", "-D", "--defined-only", plugin)
    names = sorted(line.split()[-1] for line in listing.splitlines())
    assert names == TABLES + ["ncclTunerPlugin_v5", "tcpx_nccl_plugin"], " ".join(names)


def it_calls_no_gpu_and_sets_nothing_in_the_environment():
    listing = tap.succeeds("nm", "-D", "--undefined-only", plugin)
    names = [line.split()[-1].split("@")[0] for line in listing.splitlines()]
    bad = [n for n in names if re.match(r"(cu|cuda|nccl)[A-Z]|setenv|putenv|unsetenv|clearenv", n)]
    assert not bad, " ".join(bad)


def it_stays_loaded_and_binds_its_symbols_to_itself():
    dynamic = tap.succeeds("readelf", "-d", plugin)
    assert "NODELETE" in dynamic and "SYMBOLIC" in dynamic, dynamic


tap.run([it_needs_libc_alone,
         it_needs_no_newer_symbols,
         it_shows_its_tables_and_its_mark,
         it_calls_no_gpu_and_sets_nothing_in_the_environment,
         it_stays_loaded_and_binds_its_symbols_to_itself])
