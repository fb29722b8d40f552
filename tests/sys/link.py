# SPDX-License-Identifier: Apache-2.0
"""link.py NIC up|down|ADDRESS: a NIC of the present namespace, or its only address."""
import fcntl
import socket
import struct
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8913, 0x8914, 0x8916, 1

name, wanted = sys.argv[1:]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    if wanted in ("up", "down"):
        request = fcntl.ioctl(s, SIOCGIFFLAGS, struct.pack("16sh14x", name.encode(), 0))
        flags = struct.unpack("16sh14x", request)[1]
        flags = flags | IFF_UP if wanted == "up" else flags & ~IFF_UP
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", name.encode(), flags))
    else:
        address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(wanted))
        fcntl.ioctl(s, SIOCSIFADDR, struct.pack("16s16s", name.encode(), address))
