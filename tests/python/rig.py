# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: two engines in this process."""
import unittest

import tcpx

GUARD_S = 120  # only against hanging for ever


def pattern(nbytes, seed=0):
    """Bytes in which no shift by a page or a chunk goes unseen."""
    return bytes((i * 31 + (i >> 8) * 7 + seed) & 255 for i in range(4099)) * (nbytes // 4099) + \
        bytes((i * 13 + seed) & 255 for i in range(nbytes % 4099))


class Pair(unittest.TestCase):
    """Engines a and b over loopback; a.peer is b."""

    options = {}

    def setUp(self):
        self.a = tcpx.Engine("a", **self.options)
        self.b = tcpx.Engine("b", **self.options)
        self.peer = self.a.add_peer(self.b.metadata())

    def tearDown(self):
        self.a.close()
        self.b.close()

    def shared(self, value, access=tcpx.REMOTE_READ | tcpx.REMOTE_WRITE):
        """@value registered at b, and its name at a."""
        region = self.b.register(value, access)
        return region, self.a.import_region(region.export())
