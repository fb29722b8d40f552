# SPDX-License-Identifier: Apache-2.0
"""Moves an array to another host.

    move_array.py receive                 prints what the sender needs
    move_array.py send METADATA REGION
"""
import sys

import tcpx

BYTES = 64 << 20  # a numpy array or a tensor on any GPU is registered in the same way


def receive():
    with tcpx.Engine("receive") as engine:
        region = engine.register(bytearray(BYTES), tcpx.REMOTE_WRITE)
        print(engine.metadata().hex(), region.export().hex(), flush=True)
        print("%s says %s" % engine.wait_note(timeout=60))


def send(metadata, region):
    with tcpx.Engine("send") as engine:
        peer = engine.add_peer(bytes.fromhex(metadata))
        there = engine.import_region(bytes.fromhex(region))
        peer.write(engine.register(bytearray(b"\x2a" * BYTES)), there, note="done").wait()


if sys.argv[1:] == ["receive"]:
    receive()
elif sys.argv[1:2] == ["send"] and len(sys.argv) == 4:
    send(*sys.argv[2:])
else:
    sys.exit(__doc__)
