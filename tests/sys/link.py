# SPDX-License-Identifier: Apache-2.0
"""link.py NIC up|down: a NIC of the present namespace."""
import fcntl
import socket
import struct
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

name, wanted = sys.argv[1:]
with socket.socket() as s:
    request = fcntl.ioctl(s, SIOCGIFFLAGS, struct.pack("16sh14x", name.encode(), 0))
    flags = struct.unpack("16sh14x", request)[1]
    flags = flags | IFF_UP if wanted == "up" else flags & ~IFF_UP
    fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", name.encode(), flags))
