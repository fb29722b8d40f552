#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What faults cost: one transfer over four emulated NICs, a fault one second after its start.

    bench/faults.py [--ops write,read,many] [--runs 3] [--secret] [--json FILE] [CASE...]

Beside each case stands the ideal: the time if the lost NIC-seconds were lost and nothing else.
"many" is 16 transfers at once. Every byte is compared. Needs root, and ip, tc, ss and nft.
"""
import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

from gpulib import trouble

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TCPX = os.environ.get("TCPX", os.path.join(ROOT, "build", "tcpx"))
LAB = "fault%d" % os.getpid()
NICS = ["eth0", "eth1", "eth2", "eth3"]
RATE = "500M"
BYTES = 1 << 30
NEVER = 1e9


def lab(host, *command, text=None):
    return subprocess.run([TCPX, "lab", "exec", "--name", LAB, host] + list(command), input=text,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def must(done):
    if done.returncode:
        sys.exit("a fault could not be made: %s: %s" % (" ".join(done.args), done.stdout))


def address(host, nic):
    return "10.77.%s.%d" % (nic[3:], 1 if host == "h0" else 2)


def link(nic, how):
    must(lab("h1", "ip", "link", "set", nic, how))


def links(nics, seconds):
    def fault():
        for nic in nics:
            link(nic, "down")
        if seconds < NEVER:
            time.sleep(seconds)
            for nic in nics:
                link(nic, "up")
    return fault


def rules(into, out):
    text = "table inet fault\ndelete table inet fault\n"
    if into or out:
        text += ("table inet fault {\n"
                 "chain i { type filter hook input priority 0;\n%s\n}\n"
                 "chain o { type filter hook output priority 0;\n%s\n}\n}\n" % (into, out))
    must(lab("h0", "nft", "-f", "-", text=text))


def hole(nic, ways, seconds=NEVER):
    def fault():
        rules('iifname "%s" drop' % nic if "in" in ways else "",
              'oifname "%s" drop' % nic if "out" in ways else "")
        if seconds < NEVER:
            time.sleep(seconds)
            rules("", "")
    return fault


def loss(nic, one_in):
    some = '"%s" numgen random mod %d == 0 drop' % (nic, one_in)
    return lambda: rules("iifname " + some, "oifname " + some)


def reject(seconds):
    def fault():
        rules("meta l4proto tcp reject with tcp reset", "")
        time.sleep(seconds)
        rules("", "")
    return fault


def reset(nics):
    def fault():
        for nic in nics:
            lab("h0", "ss", "-K", "src", address("h0", nic))
    return fault


def lose_address(host, nic):
    return lambda: must(lab(host, "ip", "addr", "del", address(host, nic) + "/24", "dev", nic))


def slow(nic, rate):
    def fault():
        for host in ("h0", "h1"):
            must(lab(host, "tc", "qdisc", "change", "dev", nic, "root", "tbf", "rate", rate,
                     "burst", "64k", "latency", "50ms"))
    return fault


def one_route():
    """Control alone: the connection that carries it is swallowed, the data goes on."""
    for nic in NICS:
        said = lab("h0", "ss", "-Htn", "dst", "%s:28515" % address("h1", nic)).stdout
        if "ESTAB" in said:
            rules('iifname "%s" tcp sport 28515 drop' % nic,
                  'oifname "%s" tcp dport 28515 drop' % nic)


# name: the fault, how many NICs of four it takes, for how long
CASES = {"no fault": (lambda: None, 0, 0)}
for n in NICS:
    CASES["link %s down" % n] = (links([n], NEVER), 1, NEVER)
    CASES["black hole %s" % n] = (hole(n, ("in", "out")), 1, NEVER)
CASES.update({
    "address removed here": (lose_address("h0", "eth2"), 1, NEVER),
    "address removed at the peer": (lose_address("h1", "eth2"), 1, NEVER),
    "black hole inwards": (hole("eth2", ("in",)), 1, NEVER),
    "black hole outwards": (hole("eth2", ("out",)), 1, NEVER),
    # no fault between two ends of veth
    "MTU 1400 at one end": (lambda: must(lab("h1", "ip", "link", "set", "eth1", "mtu", "1400")), 0,
                            0),
    "RST of 1 NIC": (reset(NICS[1:2]), 0, 0),
    "RST of 3 NICs": (reset(NICS[1:]), 0, 0),
    "RST of 4 NICs": (reset(NICS), 0, 0),
    "reject with reset, all, 2 s": (reject(2), 4, 2),
    "control alone": (one_route, 0, 0),
    "rate to 10 Mbit/s": (slow("eth3", "10mbit"), 1, NEVER),
    "rate to 1 Mbit/s": (slow("eth3", "1mbit"), 1, NEVER),
    "20 % loss": (loss("eth3", 5), 1, NEVER),
    "down 2 s": (links(["eth1"], 2), 1, 2),
    "down 4 s": (links(["eth1"], 4), 1, 4),
    "down 6 s": (links(["eth1"], 6), 1, 6),
    "black hole 4 s": (hole("eth2", ("in", "out"), 4), 1, 4),
    "all down 2 s": (links(NICS, 2), 4, 2),
    "all down 8 s": (links(NICS, 8), 4, 8),
})


def ideal(clean, lost, seconds):
    work, during = 4 * (clean - 1), (4 - lost) * min(seconds, 1e6)
    if lost < 4 and during >= work:
        return 1 + work / (4 - lost)
    return 1 + seconds + (work - during) / 4 if lost else clean


def listens():
    return ":6F63" in lab("h1", "cat", "/proc/net/tcp", "/proc/net/tcp6").stdout


def measure(fault, op, env, folder):
    """Seconds of the transfer, or why there are none."""
    size, more = (BYTES, ["-n", "1", "--each"]) if op != "many" else (BYTES >> 4, ["-n", "16", "--depth", "16"])
    out, log = os.path.join(folder, "out.json"), open(os.path.join(folder, "log"), "w+")
    must(subprocess.run([TCPX, "lab", "up", "--name", LAB, "--rate", RATE], text=True,
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    server = subprocess.Popen([TCPX, "lab", "exec", "--name", LAB, "h1", TCPX, "serve"], env=env,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not listens():
            time.sleep(0.05)
        ours, theirs = socket.socketpair()
        client = subprocess.Popen(
            [TCPX, "lab", "exec", "--name", LAB, "h0", TCPX, "perf", address("h1", "eth1"), "-b",
             str(size), "-e", str(size), "-w", "0", "--op", "read" if op == "read" else "write",
             "--gate-fd", str(theirs.fileno()), "--json", out, "--timeout", "60"] + more,
            env=env, stdout=log, stderr=log, pass_fds=[theirs.fileno()])
        theirs.close()
        ours.recv(1)
        ours.send(b"g")
        time.sleep(1)
        fault()
        client.wait(120)
        if client.returncode:
            log.seek(0)
            return None, log.read().strip().splitlines()[-1]
        rows = json.load(open(out))["rows"]
        if trouble(rows, more):
            return None, trouble(rows, more)
        row = rows[0]
        return row["iters"] * size / row["algbw_GBps"] / 1e9, ""
    finally:
        server.terminate()
        server.wait()
        subprocess.run([TCPX, "lab", "down", "--name", LAB], stdout=subprocess.DEVNULL)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("case", nargs="*")
    p.add_argument("--ops", default="write")
    p.add_argument("--runs", type=int, default=1)
    p.add_argument("--secret", action="store_true")
    p.add_argument("--json")
    a = p.parse_args()
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ)
        if a.secret:
            env["TCPX_SECRET_FILE"] = os.path.join(folder, "secret")
            with open(env["TCPX_SECRET_FILE"], "w") as f:
                os.fchmod(f.fileno(), 0o600)
                f.write("of this measurement, and of nothing else\n")
        for op in a.ops.split(","):
            clean = measure(lambda: None, op, env, folder)[0]
            print("%s: %.2f s without a fault" % (op, clean), flush=True)
            for name in a.case or list(CASES):
                fault, lost, seconds = CASES[name]
                best = ideal(clean, lost, seconds)
                for run in range(a.runs):
                    took, why = measure(fault, op, env, folder)
                    if took and took < 0.9 * best:
                        took, why = None, "ended in %.2f s: the fault came too late" % took
                    row = {"case": name, "op": op, "run": run, "ideal_s": best, "s": took,
                           "times": took and took / best, "why": why}
                    rows.append(row)
                    failed += took is None or took > 1.35 * best
                    print("%-28s %-6s ideal %6.2f s  %s" % (name, op, best,
                          "%6.2f s  %.2f" % (took, took / best) if took else "FAILED: " + why),
                          flush=True)
    if a.json:
        with open(a.json, "w") as f:
            json.dump(rows, f, indent=1)
    print("%d of %d within 1.35 of the ideal" % (len(rows) - failed, len(rows)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
