# SPDX-License-Identifier: Apache-2.0
"""gate.py SIZES ACTION COMMAND...: runs `tcpx perf` behind a gate, lets SIZES sizes pass, and
acts when the next one is ready to be timed. Ends with its exit code.

kill: its server is killed.  stop: its server is stopped, until perf has ended.  int: it gets SIGINT.  late: SIGINT when two timed runs have ended,
as --events FILE (the last two words) tells.  twice: the same, then waits until it notices, and
sends it again."""
import os
import signal
import socket
import subprocess
import sys
import time


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(x) for x in f.read().split()]


def until(true):
    end = time.monotonic() + 60
    while not true():
        if time.monotonic() > end:
            sys.exit("it never came")
        time.sleep(0.01)


def catches_int(pid):
    with open("/proc/%d/status" % pid) as f:
        caught = [line.split()[1] for line in f if line.startswith("SigCgt")][0]
    return int(caught, 16) & 1 << (signal.SIGINT - 1)


def main():
    sizes, action, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    ours, gate = socket.socketpair()
    ours.settimeout(60)
    os.set_inheritable(gate.fileno(), True)
    tool = subprocess.Popen(command[:2] + ["--gate-fd", str(gate.fileno())] + command[2:],
                            close_fds=False)
    gate.close()
    for _ in range(sizes):
        ours.recv(1)
        ours.send(b"g")
    ours.recv(1)
    if action == "kill":
        for pid in children(tool.pid):
            os.kill(pid, signal.SIGKILL)
        ours.send(b"g")
    if action == "stop":
        servers = children(tool.pid)
        for pid in servers:
            os.kill(pid, signal.SIGSTOP)
        ours.send(b"g")
    if action in ("late", "twice"):
        ours.send(b"g")
        until(lambda: open(command[-1]).read().count('"event":"run"') > 4)
    if action == "twice":
        for pid in children(tool.pid):
            os.kill(pid, signal.SIGSTOP)
    if action not in ("kill", "stop"):
        os.kill(tool.pid, signal.SIGINT)
    if action == "twice":
        until(lambda: not catches_int(tool.pid))
        os.kill(tool.pid, signal.SIGINT)
    rc = tool.wait(60)
    sys.exit(rc if rc >= 0 else 128 - rc)


main()
