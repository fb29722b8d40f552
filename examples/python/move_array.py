# SPDX-License-Identifier: Apache-2.0
"""Moves an array to another host: on the receiver `move_array.py receive`, which prints what the
sender needs; on the sender `move_array.py send METADATA REGION`."""
import sys

import tcpx

BYTES = 64 << 20  # a numpy array or a tensor on any GPU is registered in the same way

engine = tcpx.Engine(sys.argv[1])
if sys.argv[1] == "receive":
    data = bytearray(BYTES)
    region = engine.register(data, tcpx.REMOTE_WRITE)
    print(engine.metadata().hex(), region.export().hex(), flush=True)
    print("%s says %s" % engine.wait_note())
else:
    data = bytearray(b"\x2a" * BYTES)
    peer = engine.add_peer(bytes.fromhex(sys.argv[2]))
    there = engine.import_region(bytes.fromhex(sys.argv[3]))
    peer.write(engine.register(data), there, note="done").wait()
