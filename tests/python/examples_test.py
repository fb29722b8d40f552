#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples between processes, and the blocks of docs/python.md as printed."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GUARD_S = 120


class Program:
    """A program under examples/python, by its pipes."""

    def __init__(self, name, *words):
        path = os.path.join(ROOT, "examples/python", name)
        self.process = subprocess.Popen([sys.executable, path] + list(words), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def line(self):
        return self.process.stdout.readline().strip()

    def rest(self):
        out, _ = self.process.communicate(timeout=GUARD_S)
        assert self.process.returncode == 0, self.process.args
        return out.splitlines()

    def kill(self):
        self.process.kill()
        self.process.communicate()


def failure(name, *words, env=None):
    """What a program under examples/python that must fail says."""
    path = os.path.join(ROOT, "examples/python", name)
    done = subprocess.run([sys.executable, path] + list(words),
                          env={**os.environ, **(env or {})}, text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=GUARD_S)
    assert done.returncode == 1, (done.args, done.returncode)
    return done.stderr.strip()


class Examples(unittest.TestCase):
    def test_an_array_moves_to_another_process(self):
        receiver = Program("move_array.py", "receive")
        sender = Program("move_array.py", "send", *receiver.line().split())
        self.assertEqual(receiver.rest(), ["send says b'done'"])
        sender.rest()

    def test_pages_are_pulled_and_pushed(self):
        prefill = Program("kv_pages.py", "prefill")
        decode = Program("kv_pages.py", "decode", prefill.line())
        prefill.process.stdin.write(decode.line() + "\n")
        prefill.process.stdin.flush()
        self.assertEqual(decode.rest(), ["7 of 7 pages are right"])
        self.assertEqual(prefill.rest(), ["pulled"])

    def test_weights_reach_every_receiver(self):
        receivers = [Program("weights.py", "receive") for _ in range(3)]
        sender = Program("weights.py", "send", *[receiver.line() for receiver in receivers])
        total, *sums = sender.rest()
        self.assertEqual(total, "%d bytes sent" % (3 * (16 << 20)))
        for receiver in receivers:
            self.assertEqual(sorted(receiver.rest()), sorted(sums))

    def test_a_sender_names_the_cause_when_nobody_listens(self):
        for name, receive, send in (("move_array.py", "receive", "send"),
                                    ("kv_pages.py", "prefill", "decode"),
                                    ("weights.py", "receive", "send")):
            gone = Program(name, receive)
            words = gone.line().split()
            gone.kill()
            said = failure(name, send, *words, env={"TCPX_CONNECT_MS": "300"})
            self.assertIn("connection refused", said.splitlines()[-1])

    def test_a_prefiller_says_that_no_invitation_came(self):
        self.assertEqual(failure("kv_pages.py", "prefill"), "no invitation came")

    def test_usage_is_shown_without_arguments(self):
        for name in ("move_array.py", "kv_pages.py", "weights.py"):
            for words in ((), ("send",)):
                self.assertIn("    %s receive" % name if name != "kv_pages.py" else
                              "    kv_pages.py prefill", failure(name, *words))

    def test_training_needs_a_launcher_and_a_gpu(self):
        with tempfile.TemporaryDirectory() as place:
            for folder in ("torch", "torch/distributed", "torch/nn", "torch/nn/parallel"):
                os.mkdir(os.path.join(place, folder))
                with open(os.path.join(place, folder, "__init__.py"), "w", encoding="utf-8") as stub:
                    stub.write("class cuda:\n    device_count = staticmethod(lambda: 0)\n"
                               "DistributedDataParallel = None\n")
            self.assertIn("    torchrun ", failure("ddp.py", env={"PYTHONPATH": place}))
            self.assertEqual(failure("ddp.py", env={"PYTHONPATH": place, "LOCAL_RANK": "0"}),
                             "ddp.py: torch finds no GPU, and NCCL moves nothing else")


class Page(unittest.TestCase):
    def test_every_block_runs_as_printed(self):
        with open(os.path.join(ROOT, "docs/python.md"), encoding="utf-8") as page:
            blocks = re.findall(r"^```python\n(.*?)^```$", page.read(), re.M | re.S)
        self.assertEqual(len(blocks), 2)
        printed = []
        for block in blocks:
            with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
                program.write(block)
                program.flush()
                done = subprocess.run([sys.executable, program.name], text=True, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
            printed.append(done.stdout)
        self.assertEqual(printed, ["Note(sender='sender', data=b'all there')\n",
                                   "b'that was all'\n"])


if __name__ == "__main__":
    unittest.main()
