#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a command that moves data, take a NIC from it in mid-transfer, and give it back.

As root NIC goes down and up again. Otherwise the command's connections of the address are reset:
a socket of a child, taken by pidfd_getfd() and disconnected, sends RST. Says in a line what
happened; the exit code is the command's, 1 where no fault was shown or no data moved after it.
Usage: demo_fault.py link NIC | reset ADDRESS, then COMMAND...
"""
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
import time

MB = 1000000
PIDFD_GETFD = 438
libc = ctypes.CDLL(None, use_errno=True)


def sent(nic):
    """Bytes that the NIC has sent; 0 if there is none."""
    for line in open("/proc/net/dev"):
        name, _, figures = line.partition(":")
        if name.strip() == nic:
            return int(figures.split()[8])
    return 0


def set_link(nic, up):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        name = nic.encode()
        flags = struct.unpack("16xH", fcntl.ioctl(s, 0x8913, struct.pack("16sH14x", name, 0))[:18])[0]
        flags = flags | 1 if up else flags & ~1
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", name, flags))


def family(pid):
    """A process and its descendants."""
    found = [pid]
    for task in os.listdir("/proc/%d/task" % pid):
        for child in open("/proc/%d/task/%s/children" % (pid, task)).read().split():
            found += family(int(child))
    return found


def connections(pid, addr):
    """Copies of the connected sockets of a process whose own address is addr."""
    pidfd = os.pidfd_open(pid)
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            if not os.readlink("/proc/%d/fd/%s" % (pid, name)).startswith("socket:"):
                continue
        except OSError:
            continue
        fd = libc.syscall(PIDFD_GETFD, pidfd, int(name), 0)
        if fd < 0:
            continue
        s = socket.socket(fileno=fd)
        try:
            if s.family == socket.AF_INET and s.getsockname()[0] == addr and s.getpeername():
                yield s
        except OSError:
            pass
        s.close()
    os.close(pidfd)


def each(pid, addr, act):
    """The sum of what act() returns for those of a process and its descendants."""
    try:
        return sum(act(s) for member in family(pid) for s in connections(member, addr))
    except OSError:  # one of them has ended
        return 0


def reset(s):
    return libc.connect(s.fileno(), struct.pack("H14x", socket.AF_UNSPEC), 16) == 0


def carried(s):
    """Bytes that went by the connection, both ways, as struct tcp_info has them."""
    return sum(struct.unpack_from("QQ", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 136), 120))


def until(run, reached, limit):
    """Seconds until reached(), None if the command ends or the limit passes before."""
    begin = time.monotonic()
    while not reached():
        if run.poll() is not None or time.monotonic() - begin > limit:
            return None
        time.sleep(0.005)
    return time.monotonic() - begin


def link_fault(run, nic):
    start = sent(nic)
    if until(run, lambda: sent(nic) > start + 200 * MB, 30) is None:
        return "%s carried too little to be taken down" % nic, False
    set_link(nic, False)
    begin = time.monotonic()
    until(run, lambda: time.monotonic() > begin + 1, 5)
    set_link(nic, True)
    before = sent(nic)
    took = until(run, lambda: sent(nic) > before + 20 * MB, 10)
    if took is None:
        return "%s was down for 1 s in mid-transfer and did not carry data again" % nic, False
    return "%s was down for 1 s in mid-transfer; %.1f s after its return it carried data again" % (
        nic, took), True


def reset_fault(run, addr):
    if until(run, lambda: each(run.pid, addr, carried) > 50 * MB, 30) is None:
        return "no connection of %s carried enough to be reset; nothing was shown" % addr, False
    count = each(run.pid, addr, reset)
    if not count:
        return "the connections of %s could not be reset here; nothing was shown" % addr, False
    took = until(run, lambda: each(run.pid, addr, carried) > 5 * MB, 10)
    if took is None:
        return "%d connections of %s were reset in mid-transfer and carried no data again" % (
            count, addr), False
    return "%d connections of %s were reset in mid-transfer; %.1f s later it carried data again" % (
        count, addr, took), True


def main():
    kind, where, *command = sys.argv[1:]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    text, well = (link_fault if kind == "link" else reset_fault)(run, where)
    code = run.wait()
    print("fault: " + text, flush=True)
    sys.exit(code or not well)


main()
