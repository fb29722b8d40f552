# SPDX-License-Identifier: Apache-2.0
"""Weights to N receivers, all at once, by asyncio.

    weights.py receive                prints an invitation, and what came
    weights.py send INVITATION...
"""
import asyncio
import sys
import zlib

import tcpx

LAYERS = {"embed": 8 << 20, "layer0": 3 << 20, "layer1": 5 << 20}  # name, bytes


def receive(engine):
    weights = {name: bytearray(size) for name, size in LAYERS.items()}
    regions = [engine.register(memory, tcpx.REMOTE_WRITE) for memory in weights.values()]
    print(":".join([engine.metadata().hex()] + [region.export().hex() for region in regions]),
          flush=True)
    for _ in LAYERS:
        name = engine.wait_note(timeout=60).data.decode()  # this layer is complete
        print(name, "%08x" % zlib.crc32(weights[name]), flush=True)


async def send(engine, invitations):
    layers = {name: bytes([65 + i]) * size for i, (name, size) in enumerate(LAYERS.items())}
    local = {name: engine.register(memory) for name, memory in layers.items()}
    posted = []
    for text in invitations:
        metadata, *blobs = [bytes.fromhex(one) for one in text.split(":")]
        peer = engine.add_peer(metadata)
        for name, blob in zip(LAYERS, blobs):
            posted.append(peer.write(local[name], engine.import_region(blob), note=name))
    await asyncio.gather(*posted)
    print(sum(one.nbytes for one in posted), "bytes sent")
    for name, memory in layers.items():
        print(name, "%08x" % zlib.crc32(memory))


if sys.argv[1:] != ["receive"] and (sys.argv[1:2] != ["send"] or len(sys.argv) < 3):
    sys.exit(__doc__)
with tcpx.Engine(sys.argv[1]) as one:
    if sys.argv[1] == "receive":
        receive(one)
    else:
        asyncio.run(send(one, sys.argv[2:]))
