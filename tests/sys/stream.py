# SPDX-License-Identifier: Apache-2.0
"""A plain TCP stream, to measure what a lab's NIC carries.

stream.py recv ADDR PORTFILE    prints the bits a second it received
stream.py send ADDR PORT SECONDS
"""
import os
import socket
import sys
import time


def receive(addr, port_file):
    listener = socket.create_server((addr, 0))
    listener.settimeout(20)
    with open(port_file + ".tmp", "w") as f:
        f.write(str(listener.getsockname()[1]))
    os.rename(port_file + ".tmp", port_file)
    conn, _ = listener.accept()
    conn.settimeout(20)
    buf = bytearray(1 << 20)
    total, first = 0, None
    while n := conn.recv_into(buf):
        last = time.monotonic()
        if first is None:
            first = last
        else:
            total += n
    print(int(total * 8 / (last - first)))


def send(addr, port, seconds):
    conn = socket.create_connection((addr, int(port)), timeout=20)
    end = time.monotonic() + float(seconds)
    block = bytes(256 << 10)
    while time.monotonic() < end:
        conn.sendall(block)


if __name__ == "__main__":
    {"recv": receive, "send": send}[sys.argv[1]](*sys.argv[2:])
