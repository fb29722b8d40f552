# SPDX-License-Identifier: Apache-2.0
"""A KV cache in pages. The decoder pulls the pages of a request out of the prefiller's cache, and
the prefiller pushes those of another one into the decoder's.

    kv_pages.py prefill              prints its invitation, and reads the decoder's from stdin
    kv_pages.py decode INVITATION    prints its own
"""
import sys

import tcpx

PAGE, PAGES = 16384, 512
PULLED, FREE = [7, 300, 8, 411], [0, 1, 2, 3]  # pages there, and those that take them here
PUSHED, INTO = [20, 21, 40], [100, 200, 50]


def page(number):
    """What prefilling leaves in a page."""
    return bytes([number % 251]) * PAGE


def invitation(engine, region):
    return engine.metadata().hex() + ":" + region.export().hex()


def accept(engine, text):
    metadata, blob = text.strip().split(":")
    return engine.add_peer(bytes.fromhex(metadata)), engine.import_region(bytes.fromhex(blob))


def prefill(engine):
    cache = engine.register(bytearray(b"".join(map(page, range(PAGES)))), tcpx.REMOTE_READ)
    print(invitation(engine, cache), flush=True)
    peer, theirs = accept(engine, sys.stdin.readline() or sys.exit("no invitation came"))
    peer.wait()
    print(engine.wait_note(timeout=60).data.decode(), flush=True)  # the pages may be used again
    peer.write(cache.pages(PUSHED, PAGE), theirs.pages(INTO, PAGE), note="pushed").wait()


def decode(engine, text):
    memory = bytearray(PAGE * PAGES)
    cache = engine.register(memory, tcpx.REMOTE_WRITE)
    peer, theirs = accept(engine, text)
    print(invitation(engine, cache), flush=True)
    peer.read(cache.pages(FREE, PAGE), theirs.pages(PULLED, PAGE), note="pulled").wait()
    engine.wait_note(timeout=60)  # after the last byte of the push
    here, wanted = FREE + INTO, PULLED + PUSHED
    right = sum(memory[h * PAGE:(h + 1) * PAGE] == page(w) for h, w in zip(here, wanted))
    print("%d of %d pages are right" % (right, len(wanted)))


if sys.argv[1:] != ["prefill"] and (sys.argv[1:2] != ["decode"] or len(sys.argv) != 3):
    sys.exit(__doc__)
with tcpx.Engine(sys.argv[1]) as here:
    {"prefill": prefill, "decode": decode}[sys.argv[1]](here, *sys.argv[2:])
