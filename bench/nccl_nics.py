#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduces of NCCL over four NICs, one of which fails at a time: 20 times, every result compared.

    bench/nccl_nics.py --out OUT [--bin build] [--times 20] [--side ours|sockets] [--rate 0]

Needs root, network namespaces with veth, torch with NCCL and one GPU; CUDA MPS lets both ranks' kernels run
at once on it. Two processes, in a namespace each (`tcpx lab`), with NICs eth0 to eth3 at 10.77.K.1 and .2, and
eth4 for the bootstrap of NCCL. What fails, in turn and each NIC in turn:

    address  the second process's address is removed
    link     its link goes down
    silence  both ends send to a MAC that nobody has: packets vanish, links and addresses stay
    reset    all connections of the NIC are destroyed (needs INET_DIAG_DESTROY), and may be made again

No tool is needed for that, only ioctl() and netlink. After --down seconds the NIC is back, and after --back
seconds the next one fails. OUT gets nccl_nics-SIDE.json and .md: the longest iteration of each kind, the rate
while it lasts and afterwards. --side sockets is NCCL's own transport, for a minute at most. --player FILE runs
tests/nccl/nccl_nics in place of NCCL, without a GPU.
"""
import argparse
import datetime
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import gpulib
from gpulib import MIB

KINDS = ("address", "link", "silence", "reset")
NICS = 4
LIMIT_MS = {"silence": 4000, "reset": 200}
SIOCSIFADDR, SIOCSIFNETMASK, SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8916, 0x891c, 0x8913, 0x8914
SIOCSARP, SIOCDARP, ATF_COM, ATF_PERM, IFF_UP = 0x8955, 0x8953, 2, 4, 1
SOCK_DIAG, SOCK_DESTROY, REQUEST, ACK, DUMP = 20, 21, 1, 4, 0x300


# ---- what fails, in the present namespace -----------------------------------------------------------

def inet(address):
    return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))


def control(number, nic, rest):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        return fcntl.ioctl(s, number, struct.pack("16s", nic.encode()) + rest)


def set_address(nic, address):
    control(SIOCSIFADDR, nic, inet(address))  # 0.0.0.0 removes it
    if address != "0.0.0.0":
        control(SIOCSIFNETMASK, nic, inet("255.255.255.0"))


def set_link(nic, up):
    flags = struct.unpack("16sh14x", control(SIOCGIFFLAGS, nic, bytes(16)))[1]
    control(SIOCSIFFLAGS, nic, struct.pack("h14x", flags | IFF_UP if up else flags & ~IFF_UP))


def set_neighbour(nic, address, lost):
    ether = struct.pack("H6s8x", 1, bytes.fromhex("02deadbeef00"))
    request = inet(address) + ether + struct.pack("i", ATF_COM | ATF_PERM) + bytes(16)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSARP if lost else SIOCDARP, request + struct.pack("16s", nic.encode()))


def destroy_connections(address):
    """All TCP connections of that local address end with a reset; their number."""
    def ask(s, kind, flags, states, ident):
        body = struct.pack("BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, states) + ident
        s.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)

    found, done = [], False
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as s:  # NETLINK_SOCK_DIAG
        ask(s, SOCK_DIAG, REQUEST | DUMP, 1 << 1, bytes(48))  # established ones
        while not done:
            data = s.recv(1 << 16)
            while len(data) >= 16:
                length, kind = struct.unpack("IH", data[:6])
                done |= kind in (2, 3)  # an error, or the end
                if kind == SOCK_DIAG and data[24:28] == socket.inet_aton(address):
                    found.append(data[20:68])
                data = data[(length + 3) & ~3:]
        for ident in found:
            ask(s, SOCK_DESTROY, REQUEST | ACK, 1 << 1, ident)
            error = struct.unpack("i", s.recv(1 << 16)[16:20])[0]
            if error and error != -2:  # ENOENT: it has ended by itself
                raise OSError(-error, os.strerror(-error))
    return len(found)


def act(kind, nic, host, back):
    """Of host 0 or 1: NIC @nic fails, or is back."""
    name, own, other = "eth%d" % nic, "10.77.%d.%d" % (nic, host + 1), "10.77.%d.%d" % (nic, 2 - host)
    if kind == "silence":
        set_neighbour(name, other, not back)
    elif host == 0:
        return
    elif kind == "address":
        set_address(name, own if back else "0.0.0.0")
    elif kind == "link":
        set_link(name, back)
    elif not back:
        destroy_connections(own)


def act_as_asked(host):
    """A line each: KIND NIC away|back. One process for all: a new one would take CPU time from the ranks."""
    for line in sys.stdin:
        kind, nic, what = line.split()
        act(kind, int(nic), host, what == "back")
        print("done", flush=True)


# ---- a rank ----------------------------------------------------------------------------------------

def rank(me, meet, stop, count):
    import torch
    import torch.distributed as dist
    on_gpu = torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    dist.init_process_group("nccl" if on_gpu else "gloo", init_method="file://" + meet, rank=me, world_size=2,
                            timeout=datetime.timedelta(seconds=300))
    base = torch.arange(count, dtype=torch.int32, device=device)
    number, longest, goes_on = 0, 0.0, True
    while goes_on:
        number += 1
        sent = base * number + 7 * me
        sent[-1] = int(me == 0 and os.path.exists(stop))  # the first rank says when it ends
        wanted = base * (2 * number) + 7
        began = time.monotonic()
        dist.all_reduce(sent)
        goes_on = sent[-1].item() == 0  # waits for it
        ms = (time.monotonic() - began) * 1e3
        if not torch.equal(sent[:-1], wanted[:-1]):
            print("iteration %d: %d wrong words" % (number, (sent[:-1] != wanted[:-1]).sum().item()))
            sys.exit(1)
        longest = max(longest, ms)
        print("iteration %d: %.1f ms" % (number, ms), flush=True)
    print("all %d iterations right, the longest took %.0f ms" % (number, longest), flush=True)
    dist.destroy_process_group()


# ---- the two of them -------------------------------------------------------------------------------

def environment(side, plugin, me, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "TCPX_"))}
    data = ",".join("eth%d" % k for k in range(NICS))
    env.update(NCCL_HOSTID="nics-%d" % me, NCCL_IB_DISABLE="1", NCCL_DEBUG="INFO", GLOO_SOCKET_IFNAME="eth4",
               NCCL_DEBUG_SUBSYS="INIT,ENV", NCCL_DEBUG_FILE=os.path.join(folder, "log.%d" % me))
    if side == "ours":
        env.update(NCCL_NET="tcpx-p2p", NCCL_NET_PLUGIN=plugin, NCCL_SOCKET_IFNAME="eth4", TCPX_NICS=data)
    else:
        env.update(NCCL_NET="Socket", NCCL_NET_PLUGIN="none", NCCL_SOCKET_IFNAME=data)
    return env


class Rank:
    """One process in the lab, and its lines with the time at which they came."""

    def __init__(self, lab, me, argv, env):
        self.lines = []
        self.process = subprocess.Popen(lab.inside(me, argv), env=env, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip()))

    def iterations(self):
        """[(end, ms)]"""
        return [(at, float(line.split()[2])) for at, line in list(self.lines)
                if line.startswith("iteration ") and line.endswith(" ms")]

    def end(self, timeout):
        """Its exit code; None: it did not end."""
        try:
            self.process.wait(timeout)
            self.reader.join(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            return None
        return self.process.returncode


class Lab:
    def __init__(self, tool, rate):
        self.tool, self.name = tool, "nics%d" % os.getpid()
        self.run("up", "--nics", str(NICS + 1), "--rate", ",".join([rate] * NICS + ["0"]), "--mtu", "9000")
        self.actors = [subprocess.Popen(self.inside(host, [sys.executable, os.path.abspath(__file__), "--act", str(host)]),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for host in (0, 1)]

    def run(self, verb, *args):
        subprocess.run([self.tool, "lab", verb, "--name", self.name, *args], check=True)

    def inside(self, host, argv):
        return [self.tool, "lab", "exec", "--name", self.name, "h%d" % host, *argv]

    def down(self):
        for actor in self.actors:
            actor.stdin.close()
            actor.wait()
        self.run("down")

    def act(self, kind, nic, back):
        for actor in self.actors:
            actor.stdin.write("%s %d %s\n" % (kind, nic, "back" if back else "away"))
            actor.stdin.flush()
        for actor in self.actors:
            if actor.stdout.readline() != "done\n":
                raise gpulib.Failed("cannot do %s to eth%d" % (kind, nic))


def first_iterations(ranks, count, seconds):
    until = time.monotonic() + seconds
    while len(ranks[0].iterations()) < count:
        if time.monotonic() > until or any(r.process.poll() is not None for r in ranks):
            raise gpulib.Failed("no %d iterations: %s" % (count, [line for _, line in ranks[0].lines[-5:]]))
        time.sleep(0.05)


def fail_in_turn(lab, ranks, o):
    """Each failure: {"kind", "nic", "from", "to", "until"}."""
    kinds = [k for k in o.kinds.split(",") if k]
    failures, end = [], time.monotonic() + o.seconds
    for i in range(o.times):
        if time.monotonic() + o.down + o.back > end or any(r.process.poll() is not None for r in ranks):
            break
        # NCCL's own bootstrap is on the first NIC that its sockets have
        kind, nic = kinds[i % len(kinds)], (i // len(kinds) + i % len(kinds)) % NICS if o.side == "ours" else 1 + i % 3
        f = {"kind": kind, "nic": nic, "from": time.monotonic()}
        lab.act(kind, nic, False)
        time.sleep(0 if kind == "reset" else o.down)
        f["to"] = time.monotonic()
        lab.act(kind, nic, True)
        time.sleep(o.back)
        f["until"] = time.monotonic()
        failures.append(f)
    return failures


# ---- what it comes to ------------------------------------------------------------------------------

def ended_within(times, begin, end):
    return [ms for at, ms in times if begin < at <= end]


def within(times, begin, end):
    return [ms for at, ms in times if at - ms / 1e3 > begin and at < end]


def judge(failures, times, o):
    """Adds to each its longest iteration, and rates beside the one before the first."""
    before = gpulib.median(within(times, 0, failures[0]["from"])) if failures else 0
    if failures and times[-1][0] < failures[-1]["until"] - 1:  # one that never ended, as long as it was watched
        end = failures[-1]["until"]
        times = times + [(end, (end - times[-1][0]) * 1e3)]
    starts = [f["from"] for f in failures[1:]] + [float("inf")]
    for f, next_one in zip(failures, starts):  # an iteration is of the last failure before its end
        settle = min(1.0, o.down / 2, o.back / 2)
        f["longest_ms"] = max(ended_within(times, f["from"], next_one), default=None)
        for name, begin, end in (("during", f["from"], f["to"]), ("after", f["to"], f["until"])):
            took = within(times, begin + settle, end)
            f[name] = before / gpulib.median(took) if took else 0.0
    return before


def summary(failures, before, o, verdict):
    what = ("one of the player's: %.1f ms before" % before if o.player else
            "an all-reduce of %d MiB: %.1f ms before (%.2f GB/s)" % (
                o.mib, before, o.mib * MIB / before / 1e6 if before else 0))
    lines = ["%d failures, an iteration is %s. %s" % (len(failures), what, verdict), "",
             "| what fails | times | longest iteration, ms (median; worst) | limit | rate meanwhile | rate afterwards |",
             "|---|---:|---:|---:|---:|---:|"]
    for kind in KINDS:
        of = [f for f in failures if f["kind"] == kind and f["longest_ms"]]
        if of:
            longest = [f["longest_ms"] for f in of]
            lines.append("| %s | %d | %.0f; %.0f | %s | %s | %.2f |" % (
                kind, len(of), gpulib.median(longest), max(longest), LIMIT_MS.get(kind, ""),
                "" if kind == "reset" else "%.2f" % gpulib.median([f["during"] for f in of]),
                gpulib.median([f["after"] for f in of])))
    return "\n".join(lines + ["", "Rates are medians beside that before the first failure; three of four NICs are 0.75."]) + "\n"


def used(folder):
    lines = []
    for me in (0, 1):
        try:
            with open(os.path.join(folder, "log.%d" % me), errors="replace") as f:
                lines += [line.strip() for line in f if "Using network" in line or " WARN " in line]
        except OSError:
            pass
    return lines


def play(o):
    programs = gpulib.Programs(o.bin)
    plugin = os.path.abspath(o.plugin or programs.plugin()) if o.side == "ours" else "none"
    tool = os.path.abspath(programs.find("tcpx"))
    lab = Lab(tool, o.rate)
    failures, ranks, codes = [], [], [None, None]
    try:
        with tempfile.TemporaryDirectory(prefix="nics-") as folder:
            meet, stop = os.path.join(folder, "meet"), os.path.join(folder, "stop")
            for me in (0, 1):
                argv = ([os.path.abspath(o.player), plugin, str(me), meet, stop, str(o.mib // 4)] if o.player else
                        [sys.executable, os.path.abspath(__file__), "--rank", str(me), meet, stop, str(o.mib)])
                ranks.append(Rank(lab, me, argv, environment(o.side, plugin, me, folder)))
            first_iterations(ranks, 10, 90)
            time.sleep(o.back)
            failures = fail_in_turn(lab, ranks, o)
            open(stop, "w").close()
            codes = [r.end(30 if o.side == "ours" else 5) for r in ranks]
            said = used(folder)
    finally:
        for r in ranks:
            r.end(0.1)
        lab.down()
    last = [line for r in ranks for _, line in r.lines[-6:]]
    times = ranks[0].iterations()
    right = codes == [0, 0] and any(line.startswith("all ") for _, line in ranks[0].lines)
    verdict = "No error, every result right." if right else "IT FAILED: exit codes %s." % codes
    before = judge(failures, times, o)
    text = summary(failures, before, o, verdict) + "\n".join(["", *said[:8], *([] if right else last)]) + "\n"
    with open(os.path.join(o.out, "nccl_nics-%s.json" % o.side), "w", encoding="utf-8") as f:
        json.dump({"machine": gpulib.machine(), "options": vars(o), "failures": failures, "iterations": times,
                   "codes": codes, "said": said, "last": last}, f, indent=1)
    with open(os.path.join(o.out, "nccl_nics-%s.md" % o.side), "w", encoding="utf-8") as f:
        f.write(text)
    print(text)
    return 0 if right or o.side == "sockets" else 1


def main():
    if sys.argv[1:2] == ["--act"]:
        return act_as_asked(int(sys.argv[2]))
    if sys.argv[1:2] == ["--rank"]:
        return rank(int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]) * MIB // 4)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--bin", default=os.path.join(gpulib.ROOT, "build"))
    parser.add_argument("--plugin", help="file (that of --bin)")
    parser.add_argument("--side", default="ours", choices=("ours", "sockets"))
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--down", type=float, default=4, help="seconds that a NIC is away (4)")
    parser.add_argument("--back", type=float, default=4, help="seconds until the next (4)")
    parser.add_argument("--seconds", type=float, help="of all failures (240; sockets 60)")
    parser.add_argument("--rate", default="0", help="bits a second of a NIC, such as 4G; 0: no limit (0)")
    parser.add_argument("--mib", type=int, default=64, help="of an all-reduce (64); of the player's iteration at most")
    parser.add_argument("--player", help="tests/nccl/nccl_nics, in place of NCCL")
    o = parser.parse_args()
    o.seconds = o.seconds or (240 if o.side == "ours" else 60)
    os.makedirs(o.out, exist_ok=True)
    return play(o)


if __name__ == "__main__":
    sys.exit(main())
