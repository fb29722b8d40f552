#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The signatures and structs of python/tcpx/_abi.py are those of the binary interface on
record, which another test compares with the header and the library."""
import ctypes
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from tcpx import _abi, region, errors, handle
import tcpx

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
with open(os.path.join(ROOT, "src/lib/tcpx.abi"), encoding="utf-8") as record:
    LINES = [line.split() for line in record if not line.startswith("#")]
WIDTHS = {"int": ctypes.c_int, "unsigned": ctypes.c_uint, "size_t": ctypes.c_size_t,
          "uint64_t": ctypes.c_uint64, "uint32_t": ctypes.c_uint32, "uint16_t": ctypes.c_uint16, "void": None,
          "enum tcpx_op": ctypes.c_int, "enum tcpx_err_group": ctypes.c_int}
PROGRAM = """
from typing import Dict, List, Union
import tcpx

with tcpx.Engine("a") as a, a.register(bytearray(9)) as mine, a.connect("b:1") as peer:
    theirs = a.import_region(mine.export())
    ended: List[Union[tcpx.Transfer, tcpx.PeerEvent]] = a.poll(1)
    totals: Dict[str, int] = a.counters()
    names: List[str] = a.poll(1)  # wrong
    text: Dict[str, str] = a.counters()  # wrong
    mine.fly()  # wrong
    theirs.fly()  # wrong
    peer.write(mine[0:3] + mine.pages([0], 3), [theirs[0:1], theirs.piece(1, 5)], note="x").wait()
    peer.prepare(tcpx.READ, [mine, mine[:2]], theirs).post(memoryview(b"x"))
    peer.send(theirs)  # wrong
    peer.write(theirs, theirs[0:3])  # wrong
    peer.write(mine, mine[0:3])  # wrong
    peer.read([mine, theirs], theirs)  # wrong
    peer.notify(5)  # wrong
"""


def split(text):
    """The result and the parameters of "int(const void*, size_t)"."""
    result, inside = re.fullmatch(r"(.*?)\((.*)\)", text).groups()
    return [result] + [] if inside == "void" else [result] + inside.split(", ")


def is_pointer(kind):
    return kind in (ctypes.c_void_p, ctypes.c_char_p) or hasattr(kind, "contents")


class Abi(unittest.TestCase):
    def test_every_call_is_declared_and_no_other(self):
        self.assertEqual({line[1] for line in LINES if line[0] == "call"}, set(_abi.CALLS))

    def test_each_call_has_its_parameters(self):
        for line in LINES:
            if line[0] != "call":
                continue
            wanted, got = split(" ".join(line[3:])), _abi.CALLS[line[1]]
            self.assertEqual(len(wanted), len(got), line)
            for there, here in zip(wanted, got):
                with self.subTest(call=line[1], parameter=there):
                    if there.endswith("*"):
                        self.assertTrue(is_pointer(here), here)
                    else:
                        self.assertIs(here, WIDTHS[there])

    def test_out_parameters_have_their_width(self):
        widths = {"size_t*": ctypes.c_size_t, "uint64_t*": ctypes.c_uint64, "int*": ctypes.c_int}
        for line in LINES:
            if line[0] != "call":
                continue
            for there, here in zip(split(" ".join(line[3:])), _abi.CALLS[line[1]]):
                if there in widths:
                    self.assertIs(here._type_, widths[there], line[1])

    def test_structs_have_their_sizes_and_members(self):
        sizes = {line[1]: int(line[2]) for line in LINES if line[0] == "struct"}
        self.assertEqual(set(sizes), set(_abi.STRUCTS))
        members = {line[1]: (int(line[2]), int(line[3])) for line in LINES if line[0] == "member"}
        for name, struct in _abi.STRUCTS.items():
            # the library's may have grown at its end: it is given the size of ours
            self.assertLessEqual(ctypes.sizeof(struct), sizes[name], name)
            for field, *_ in struct._fields_:
                place = getattr(struct, field)
                self.assertEqual((place.offset, place.size), members["%s.%s" % (name, field)])

    def test_constants_have_their_values(self):
        values = {line[1]: int(line[2]) for line in LINES if line[0] == "value"}
        for name in ("NOTE_MAX", "BLOB_MAX", "METADATA_MAX"):
            self.assertEqual(values["TCPX_" + name], getattr(tcpx, name))
        for name in ("LOCAL", "REMOTE_READ", "REMOTE_WRITE"):
            self.assertEqual(values["TCPX_MEM_" + name], getattr(region, name))
        for name in ("WRITE", "READ", "SEND", "RECV"):
            self.assertEqual(values["TCPX_OP_" + name], getattr(tcpx, name))
        self.assertEqual(values["TCPX_ECLOSED"], errors.ECLOSED)

    def test_every_code_has_an_exception_of_its_group(self):
        kinds = {"CALL": tcpx.CallError, "TRANSFER": tcpx.TransferError,
                 "CHANNEL": tcpx.ChannelError, "SESSION": tcpx.SessionError}
        groups = {int(line[2]): kinds[line[1][11:]] for line in LINES
                  if line[0] == "value" and line[1][11:] in kinds}
        codes = [int(line[2]) for line in LINES if line[0] == "value" and int(line[2]) < 0]
        self.assertTrue(codes)
        for code in codes:
            made = errors.error(code, "call")
            self.assertIs(type(made), groups[_abi.C.tcpx_err_group(code)])
            self.assertIn(made.name, str(made))
        self.assertIsInstance(errors.error(-22, "call"), tcpx.SystemCallError)
        self.assertEqual(errors.error(-22, "call").errno, 22)

    def test_errors_go_to_other_processes(self):
        for made in (errors.error(-1004, "import", "a cause"), errors.error(-22, "call")):
            again = pickle.loads(pickle.dumps(made))
            self.assertEqual((type(again), str(again), again.code, again.name),
                             (type(made), str(made), made.code, made.name))

    def test_no_call_reaches_an_engine_that_has_been_closed(self):
        closed = handle.Calls()
        closed.shut(int)
        closed.settle()
        for name in set(_abi.CALLS) - set(_abi.FREE):
            with self.assertRaisesRegex(ValueError, "has been closed"):
                getattr(_abi.C, name)(handle.Handle.room(closed))

    @unittest.skipUnless(shutil.which("mypy"), "mypy is not installed")
    def test_a_strict_checker_finds_what_is_wrong_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as place:
            with open(place + "/user.py", "w", encoding="utf-8") as program:
                program.write(PROGRAM)
            done = subprocess.run(
                ["mypy", "--strict", "--cache-dir", place, place + "/user.py"], text=True,
                env={**os.environ, "MYPYPATH": ROOT + "/python", "LD_PRELOAD": ""}, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        found = {int(number) for number in re.findall(r"user.py:(\d+): error", done.stdout)}
        wrong = {number for number, line in enumerate(PROGRAM.split("\n"), 1) if "# wrong" in line}
        self.assertEqual((found, done.stdout.count(": error")), (wrong, len(wrong)), done.stdout)

    def test_a_library_that_is_not_there_is_one_line_of_the_command(self):
        def run(*words):
            return subprocess.run([sys.executable, *words], text=True, check=False,
                                  env={**os.environ, "PYTHON_TCPX_LIBRARY": "/nosuch/lib.so"},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        done = run("-m", "tcpx", "nccl")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\Atcpx: the C library /nosuch/lib.so cannot be used: .*\n\Z")
        self.assertIn("ImportError: tcpx: the C library", run("-c", "import tcpx").stdout)


if __name__ == "__main__":
    unittest.main()
