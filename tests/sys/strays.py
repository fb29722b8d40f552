# SPDX-License-Identifier: Apache-2.0
"""Clients that are none, for a server that waits for one.

strays.py hello FILE COMMAND...    what COMMAND, with HOST:PORT for its last word, says first
strays.py throw ADDR:PORT FILE COUNT SEED
                                   at that server: garbage, half a hello, hellos that are wrong
strays.py gate COMMAND...          COMMAND waits before its timed run for a line of ours: "go", or
                                   "kill", which ends it
"""
import random
import socket
import subprocess
import sys


def record(path, command):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        client = subprocess.Popen([*command, "127.0.0.1:%d" % listener.getsockname()[1]],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            conn, _ = listener.accept()
            conn.settimeout(30)
            hello = conn.recv(65536)
        finally:
            client.kill()
            client.wait()
    with open(path, "wb") as f:
        f.write(hello)


def gate(command):
    ours, its = socket.socketpair()
    client = subprocess.Popen([*command, "--gate-fd", str(its.fileno())], pass_fds=[its.fileno()])
    its.close()
    ours.recv(1)
    print("at the gate", flush=True)
    if sys.stdin.readline().strip() == "go":
        ours.sendall(b"g")
    else:
        client.kill()
    sys.exit(client.wait())


def letters(rng, hello):
    """Without end, one kind after the other."""
    while True:
        yield rng.randbytes(rng.randrange(1, 4096))
        yield b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        yield hello[:rng.randrange(1, len(hello))]
        other = bytearray(hello)  # another version, and whatever else its head may say
        other[rng.randrange(min(24, len(other)))] ^= 1 << rng.randrange(8)
        yield bytes(other)
        spoiled = bytearray(hello)
        for _ in range(8):
            spoiled[rng.randrange(len(spoiled))] = rng.randrange(256)
        yield bytes(spoiled)
        yield hello + rng.randbytes(200)
        yield hello
        yield b""


def throw(where, hello, count, seed):
    addr, port = where.rsplit(":", 1)
    rng = random.Random(seed)
    kinds = letters(rng, hello)
    open_still = []
    for i in range(count):
        conn = socket.create_connection((addr, int(port)), timeout=10)
        conn.settimeout(0.05)
        try:
            conn.sendall(next(kinds))
            if rng.random() < 0.5:
                conn.recv(4096)
        except OSError:
            pass  # being thrown out is what is wanted
        if i % 3:
            conn.close()
        else:
            open_still.append(conn)  # some stay, and say no more
    for conn in open_still:
        conn.close()


if __name__ == "__main__":
    if sys.argv[1] == "hello":
        record(sys.argv[2], sys.argv[3:])
    elif sys.argv[1] == "gate":
        gate(sys.argv[2:])
    else:
        with open(sys.argv[3], "rb") as f:
            throw(sys.argv[2], f.read(), int(sys.argv[4]), int(sys.argv[5]))
