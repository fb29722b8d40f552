#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random networks of two or three hosts, by seed: networks.py TOOL [FIRST [LAST]].

Each host is a network namespace with up to four NICs. A segment joins some of them: a plain cable, or a router
that gives each NIC a prefix of its own. Prefixes, names, families, links that are down, cables that lead to other
segments than their names say, and interfaces that lead nowhere are drawn by the seed. For each two hosts the
NICs of the one try those of the other with a TCP connection from their own device and address. Where any connects,
`tcpx perf` must move its bytes within the time, by each NIC that reaches one of the peer's, or name it and what it
tried; where none does, the session must fail, with a text, and not hang. Needs root and iproute2.
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SESSION_S = 5
HANG_S = 60
REACH = """
import socket, sys
dev, near, far, port = sys.argv[1:5]
for _ in range(3):
    s = socket.socket(socket.AF_INET6 if ":" in far else socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(1.5)
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, dev.encode() + b"\\0")
        s.bind((near, 0))
        s.connect((far, int(port)))
        sys.exit(0)
    except OSError:
        s.close()
sys.exit(1)
"""
LISTEN = """
import socket
held = []
for family in (socket.AF_INET, socket.AF_INET6):
    s = socket.socket(family, socket.SOCK_STREAM)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind(("", 9))
    s.listen(64)
    held.append(s)
print("listens", flush=True)
while True:
    __import__("time").sleep(60)
"""


def run(*words, check=True, **more):
    return subprocess.run([str(w) for w in words], check=check, text=True, capture_output=True, **more)


class Nic:
    """An interface of a host: where it leads, and its address."""

    def __init__(self, name, segment, address, prefix, up):
        self.name, self.segment, self.address, self.prefix, self.up = name, segment, address, prefix, up


class Network:
    """The namespaces of a seed. All of it goes with them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.tag = f"n{os.getpid()}s{seed}"
        self.spaces, self.children, self.commands = [], [], {}
        self.hosts = [self.host(h) for h in range(self.rng.choice((2, 2, 3)))]

    def space(self, name):
        run("ip", "netns", "add", self.tag + name)
        self.spaces.append(name)
        self.commands[name] = ["link set lo up"]
        return name

    def inside(self, name, *words):
        return ["ip", "netns", "exec", self.tag + name, *map(str, words)]

    def start(self, name, *words, **more):
        child = subprocess.Popen(self.inside(name, *words), text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, **more)
        self.children.append(child)
        return child

    def host(self, number):
        return {"name": self.space(f"h{number}"), "nics": []}

    def cable(self, a, nic_a, b, nic_b):
        run("ip", "link", "add", nic_a, "netns", self.tag + a, "type", "veth", "peer", "name", nic_b,
            "netns", self.tag + b)

    def router(self, segment):
        name = self.space(f"r{segment}")
        for file in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
            run(*self.inside(name, "sh", "-c", f"echo 1 >/proc/sys/net/{file}"))
        return name

    def build(self):
        """A segment for each NIC of most hosts; their names and cables may be out of order."""
        count, flat = self.rng.randint(1, 4), self.rng.random() < 0.25
        for segment in range(count):
            six = self.rng.random() < 0.3
            router = self.router(segment)
            for number, host in enumerate(self.hosts):
                if self.rng.random() < 0.15 and host["nics"]:
                    continue  # it lacks this one
                self.attach(number, host, segment, router, six, flat)
        for host in self.hosts:
            names = [f"eth{k}" for k in range(len(host["nics"]))]
            if self.rng.random() < 0.4:
                self.rng.shuffle(names)
            if self.rng.random() < 0.2:
                names = [f"ens{7 * k + 3}" for k in range(len(host["nics"]))]
            for nic, name in zip(host["nics"], names):
                nic.name = name
            if self.rng.random() < 0.3:
                self.nowhere(host)
            self.configure(host)
        for space in self.spaces:
            run("ip", "-n", self.tag + space, "-b", "-", input="\n".join(self.commands[space]) + "\n")

    def attach(self, number, host, segment, router, six, flat):
        bits = 128 if six else 32
        long_prefix = flat or self.rng.random() < 0.6
        base = f"fd00:{segment + 1:x}:{number + 1:x}::" if six else f"10.{segment + 1}.{number + 1}."
        near, gate = base + "2", base + "1"
        prefix = bits if long_prefix else bits - 1 if self.rng.random() < 0.3 else bits - 8
        if prefix == bits - 1:
            near, gate = base + "2", base + "3"
        nic = Nic("", segment, near, prefix, self.rng.random() > 0.12 or not host["nics"])
        nic.gate, nic.six, nic.inner = gate, six, f"t{number}s{segment}"
        self.cable(host["name"], nic.inner, router, f"h{number}")
        self.commands[router] += [f"addr add {gate}/{prefix} dev h{number}" + (" nodad" if six else ""),
                                  f"link set h{number} up",
                                  f"route replace {near}/{bits} dev h{number}"]
        host["nics"].append(nic)

    def nowhere(self, host):
        name = self.space(host["name"] + "x")
        nic = Nic(self.rng.choice(("net0", "aux1")), None, "172.31.0.1", 24, True)
        nic.gate, nic.six, nic.inner = None, False, "blind"
        self.cable(host["name"], "blind", name, "end")
        self.commands[name].append("link set end up")
        host["nics"].append(nic)

    def configure(self, host):
        lines = self.commands[host["name"]]
        for nic in host["nics"]:
            bits = 128 if nic.six else 32
            lines += [f"link set {nic.inner} name {nic.name}",
                      f"addr add {nic.address}/{nic.prefix} dev {nic.name}" + (" nodad" if nic.six else "")]
            if not nic.up:
                continue
            lines.append(f"link set {nic.name} up")
            if nic.gate:
                whole = f"fd00:{nic.segment + 1:x}::/32" if nic.six else f"10.{nic.segment + 1}.0.0/16"
                lines += [f"route replace {nic.gate}/{bits} dev {nic.name}",
                          f"route add {whole} via {nic.gate} dev {nic.name}"]

    def close(self):
        for child in self.children:
            child.kill()
            child.communicate()
        for space in self.spaces:
            run("ip", "netns", "del", self.tag + space, check=False)


def reaching(net, a, b):
    """Pairs of NICs of two hosts that connect, from device and address."""
    listener = net.start(b["name"], sys.executable, "-c", LISTEN)
    listener.stdout.readline()
    trials = {}
    for near in a["nics"]:
        for far in b["nics"]:
            if near.up and far.up and near.six == far.six:
                trials[near.name, far.name] = subprocess.Popen(net.inside(
                    a["name"], sys.executable, "-c", REACH, near.name, near.address, far.address, 9))
    found = [pair for pair, trial in trials.items() if trial.wait() == 0]
    listener.kill()
    listener.wait()
    return found


def perf(net, tool, a, b, pairs, scratch):
    """What is wrong with a run from a to b; None: nothing."""
    far = {nic.name: nic for nic in b["nics"]}
    quiet = {name: text for name, text in os.environ.items() if name != "TCPX_DEBUG"}
    server = net.start(b["name"], tool, "serve", env=quiet)
    lines = [server.stdout.readline()]
    while lines[-1] and ": port " not in lines[-1]:
        lines.append(server.stdout.readline())
    if not lines[-1]:
        return f"serve has ended: {lines}"
    target = far[pairs[0][1]] if pairs else next(n for n in b["nics"] if n.up)
    place = f"[{target.address}]" if target.six else target.address
    record = os.path.join(scratch, "record.json")
    begin = time.monotonic()
    try:
        done = run(*net.inside(a["name"], tool, "perf", place, "-b", "4M", "-e", "4M", "-n", "4", "-w", "1",
                               "--json", record), check=False, timeout=HANG_S)
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        server.kill()
        server.wait()
    said = done.stdout + done.stderr
    took = time.monotonic() - begin
    if not pairs:
        return None if done.returncode and "tcpx perf:" in said else f"no path, and no word of it:\n{said}"
    if done.returncode:
        return f"no session, exit {done.returncode} after {took:.1f} s, though {pairs} connect:\n{said}"
    with open(record, encoding="utf-8") as file:
        row = json.load(file)["rows"][0]
    setup = [w for w in said.split("set up in ")[1:]]
    if not setup or float(setup[0].split(" ms")[0]) > SESSION_S * 1000:
        return f"set up too late:\n{said}"
    if row["wrong"]:
        return f"wrong bytes:\n{said}"
    used = {n["nic"] for n in row["per_nic"] if n["bytes"]}
    idle = {near for near, _ in pairs} - used
    unnamed = [n for n in idle if f"on NIC {n} could not connect" not in said]
    return f"{unnamed} reach the peer and are neither used nor named:\n{said}" if unnamed else None


def try_seed(tool, seed):
    net = Network(seed)
    bad = []
    try:
        net.build()
        with tempfile.TemporaryDirectory() as scratch:
            for a, b in zip(net.hosts, net.hosts[1:] + net.hosts[:1]):
                pairs = reaching(net, a, b)
                wrong = perf(net, tool, a, b, pairs, scratch)
                shape = [[f"{n.name}{'' if n.up else ' down'} {n.address}/{n.prefix}" for n in h["nics"]]
                         for h in (a, b)]
                print(f"seed {seed} {a['name']} to {b['name']}: {len(pairs)} pairs connect"
                      + (f": WRONG\n{shape}\n{pairs}\n{wrong}" if wrong else ""), flush=True)
                bad += [wrong] if wrong else []
    finally:
        net.close()
    return len(bad)


def main():
    if os.geteuid() != 0:
        sys.exit("networks.py needs root, for network namespaces")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was made goes with it
    tool = os.path.realpath(sys.argv[1])
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    last = int(sys.argv[3]) if len(sys.argv) > 3 else first + 39
    bad = sum(try_seed(tool, seed) for seed in range(first, last + 1))
    print(f"{last - first + 1} networks, {bad} wrong")
    sys.exit(bool(bad))


main()
