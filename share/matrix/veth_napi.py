#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives a virtual Ethernet NIC the nearest it has to an interrupt that can be moved: its NAPI
threads. Runs inside the network namespace (tcpx lab exec HOST ...).

  veth_napi.py on IF          receive offload on, NAPI in kernel threads of priority $NICE
  veth_napi.py off IF         NAPI where the packet came from, as it was
  veth_napi.py pin IF CPUS    its threads on these CPUs (a list as 0-1)
  veth_napi.py show IF        thread and CPUs of each
"""
import array
import fcntl
import os
import socket
import struct
import sys
import time

SIOCETHTOOL, ETHTOOL_SGRO = 0x8946, 0x2C
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
GENL_CTRL, CTRL_GETFAMILY, CTRL_NAME, CTRL_ID = 16, 3, 2, 1
NETDEV_NAPI_GET, NAPI_IFINDEX, NAPI_ID, NAPI_PID = 11, 1, 2, 4
NLM_REQUEST, NLM_DUMP, NLMSG_ERROR, NLMSG_DONE = 1, 0x300, 2, 3


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def attributes(data):
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        if size < 4:
            break
        found[kind & 0x3FFF] = data[4:size]
        data = data[(size + 3) & ~3:]
    return found


def genl(sock, family, command, flags, payload):
    """The attributes of each answer."""
    body = struct.pack("=BBH", command, 1, 0) + payload
    sock.send(struct.pack("=IHHII", 16 + len(body), family, NLM_REQUEST | flags, 1, 0) + body)
    answers = []
    while True:
        data = sock.recv(65536)
        while len(data) >= 16:
            size, kind = struct.unpack_from("=IH", data)
            if kind == NLMSG_DONE:
                return answers
            if kind == NLMSG_ERROR:
                code = -struct.unpack_from("=i", data, 16)[0]
                raise OSError(code, os.strerror(code))
            answers.append(attributes(data[20:size]))
            data = data[(size + 3) & ~3:]
        if not flags & NLM_DUMP:
            return answers


def threads(name):
    """[(NAPI id, thread id)] of the NIC, those that have a thread."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
        sock.bind((0, 0))
        family = genl(sock, GENL_CTRL, CTRL_GETFAMILY, 0, attribute(CTRL_NAME, b"netdev\0"))[0]
        answers = genl(sock, struct.unpack("=H", family[CTRL_ID])[0], NETDEV_NAPI_GET, NLM_DUMP,
                       attribute(NAPI_IFINDEX, struct.pack("=I", socket.if_nametoindex(name))))
    number = struct.Struct("=I")
    return sorted((number.unpack(a[NAPI_ID])[0], number.unpack(a[NAPI_PID])[0])
                  for a in answers if NAPI_ID in a and NAPI_PID in a)


def request(sock, name, call, data):
    return fcntl.ioctl(sock, call, struct.pack("16s16s", name.encode(), data))


def offload(name, on):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        value = array.array("I", [ETHTOOL_SGRO, int(on)])
        request(sock, name, SIOCETHTOOL, struct.pack("P", value.buffer_info()[0]))
        # the driver makes its NAPI contexts when the NIC goes up
        flags = struct.unpack_from("=H", request(sock, name, SIOCGIFFLAGS, b""), 16)[0]
        request(sock, name, SIOCSIFFLAGS, struct.pack("=H", flags & ~IFF_UP))
        request(sock, name, SIOCSIFFLAGS, struct.pack("=H", flags | IFF_UP))


def threaded(name, on):
    with open("/sys/class/net/%s/threaded" % name, "w") as f:
        f.write(str(int(on)))


def cpus(text):
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def main(verb, name, *rest):
    if verb == "on":
        offload(name, True)
        threaded(name, True)
        deadline = time.monotonic() + 5
        while not threads(name) and time.monotonic() < deadline:
            time.sleep(0.01)
        if not threads(name):
            sys.exit("%s has no NAPI threads" % name)
        for _, pid in threads(name):
            os.setpriority(os.PRIO_PROCESS, pid, int(os.environ.get("NICE", "0")))
    elif verb == "off":
        threaded(name, False)
        offload(name, False)
    elif verb == "pin":
        for _, pid in threads(name):
            os.sched_setaffinity(pid, cpus(rest[0]))
    elif verb == "show":
        print(" ".join("%s on %s" % (open("/proc/%d/comm" % pid).read().split("-")[0],
                                     ",".join(map(str, sorted(os.sched_getaffinity(pid)))))
                       for _, pid in threads(name)) or "no thread")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
