# SPDX-License-Identifier: Apache-2.0
"""Bytes that no version of us writes.

garbage.py ports                     the listening TCP ports of the present namespace
garbage.py throw ADDR SEED PORT...   at each of these ports
"""
import random
import socket
import struct
import sys


def listening_ports():
    ports = set()
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(path) as f:
            for line in f.readlines()[1:]:
                field = line.split()
                if field[3] == "0A":
                    ports.add(int(field[1].rsplit(":", 1)[1], 16))
    return sorted(ports)


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


def throw(addr, seed, ports):
    rng = random.Random(int(seed))
    silent = []
    for port in map(int, ports):
        for _ in range(20):  # those that never say a word stay until the end
            silent.append(socket.create_connection((addr, port), timeout=5))
        for letter in letters(rng):
            with socket.create_connection((addr, port), timeout=5) as s:
                try:
                    s.sendall(letter)
                    if rng.random() < 0.5:
                        s.shutdown(socket.SHUT_WR)
                    s.settimeout(0.05)
                    s.recv(4096)
                except OSError:
                    pass  # being thrown out is what is wanted
    print("threw at", len(ports), "ports, seed", seed)


if __name__ == "__main__":
    if sys.argv[1] == "ports":
        print(*listening_ports())
    else:
        throw(sys.argv[2], sys.argv[3], sys.argv[4:])
