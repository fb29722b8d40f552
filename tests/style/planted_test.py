#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/layers.py finds what it is for. Usage: planted_test.py SOURCE-ROOT"""
import os
import shutil
import subprocess
import sys
import tempfile

import tap

ROOT = sys.argv[1]


def report(path=None, old=None, new=None):
    """What the check says of the core with one text of one file replaced."""
    with tempfile.TemporaryDirectory() as copy:
        for folder in ("scripts", "include", "src/core"):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(copy, folder))
        if path:
            path = os.path.join(copy, path)
            with open(path, encoding="utf-8") as f:
                text = f.read()
            assert old in text, "%s has no %s" % (path, old)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace(old, new, 1))
        done = subprocess.run([sys.executable, "scripts/layers.py"], cwd=copy, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout


def finds(said, path, old, new):
    status, text = report(path, old, new)
    assert status == 1 and said in text, "status %d: %s" % (status, text)


def the_core_as_it_is_passes():
    status, text = report()
    assert status == 0, text


def an_include_of_a_higher_room_is_found():
    finds("core/loop/ may not include core/session/", "src/core/loop/loop.c",
          '#include "core/loop/loop.h"\n', '#include "core/session/session.h"\n')


def a_call_to_a_sibling_through_a_table_is_found():
    finds("tcpx_control_flush(), which struct session_calls reaches", "src/core/engine/upward.c",
          ".opened = session_opened", ".opened = tcpx_control_flush")


def a_call_to_a_sibling_through_a_wrapper_is_found():
    finds("tcpx_loop_wake(), which struct loop_calls reaches", "src/core/engine/upward.c",
          "tcpx_batches_launch(l);", "tcpx_loop_wake(l);")


def a_table_that_a_room_fills_in_itself_is_found():
    finds("struct copy_calls is filled in by core/engine/upward.c alone",
          "src/core/channel/pack.c", "void\ntcpx_pack_done(",
          "static const struct copy_calls mine = { .packed = tcpx_pack_done };\n\n"
          "void\ntcpx_pack_done(")


def a_function_declared_elsewhere_is_found():
    finds("tcpx_pack_done() is not in src/core/channel/unpack.c", "src/core/channel/unpack.h",
          "void tcpx_unpack_done(", "void tcpx_pack_done(void);\nvoid tcpx_unpack_done(")


def a_second_rule_for_a_folder_is_found():
    finds("folder base has two rules", "scripts/layers.txt", "folder base\n",
          "folder base\nfolder base net\n")


def a_function_declared_nowhere_is_found():
    finds("tcpx_pack_more() is not in src/core/channel/pack.h", "src/core/channel/pack.c",
          "void\ntcpx_pack_done(", "void\ntcpx_pack_more(void)\n{\n}\n\nvoid\ntcpx_pack_done(")


tap.run([the_core_as_it_is_passes, an_include_of_a_higher_room_is_found,
         a_call_to_a_sibling_through_a_table_is_found,
         a_call_to_a_sibling_through_a_wrapper_is_found,
         a_table_that_a_room_fills_in_itself_is_found, a_function_declared_elsewhere_is_found,
         a_second_rule_for_a_folder_is_found,
         a_function_declared_nowhere_is_found])
