# SPDX-License-Identifier: Apache-2.0
"""Bytes that no version of us writes.

garbage.py ports                       ADDR:PORT of all that listens in this namespace
garbage.py throw SEED ADDR:PORT...     at each of these, until ended; a line a round
"""
import itertools
import random
import socket
import struct
import sys


def listening_ports():
    """Those on every address are reached by the first NIC's; the loopback's by nobody else."""
    with open("/proc/net/tcp") as f:
        for line in f.readlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            if state == "0A":
                addr, port = (int(x, 16) for x in local.split(":"))
                text = socket.inet_ntoa(struct.pack("=I", addr))
                if text.startswith("127."):
                    continue
                yield "%s:%d" % ("10.77.0.2" if addr == 0 else text, port)


def letters(rng):
    yield b""
    yield b"\0"
    yield b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(500)
    for length in (0, 1, 0x7FFFFFFF, 0xFFFFFFFF):
        yield struct.pack(">I", length) + rng.randbytes(64)
        yield struct.pack("<I", length) + rng.randbytes(64)
    for _ in range(20):
        yield rng.randbytes(rng.randrange(1, 4096))
    yield rng.randbytes(1 << 20)


def throw(seed, ports):
    rng = random.Random(seed)
    silent = []
    for port in ports:
        addr, number = port.split(":")
        to = (addr, int(number))
        for _ in range(20):  # those that never say a word stay until the round ends
            silent.append(socket.create_connection(to, timeout=5))
        for letter in letters(rng):
            with socket.create_connection(to, timeout=5) as s:
                s.settimeout(0.02)
                try:
                    s.sendall(letter)
                    if rng.random() < 0.5:
                        s.shutdown(socket.SHUT_WR)
                    s.recv(4096)
                except OSError:
                    pass  # being thrown out is what is wanted
    print("threw at", len(ports), "ports, seed", seed, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "ports":
        print(*listening_ports())
    else:
        for round_seed in itertools.count(int(sys.argv[2])):
            throw(round_seed, sys.argv[3:])
