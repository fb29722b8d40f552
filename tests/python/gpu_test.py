#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GPU memory and the order of streams, over a driver in software."""
import ctypes
import os
import unittest

from rig import GUARD_S, Pair, pattern
import tcpx

SIZE = 3 << 20
DRIVER = ctypes.CDLL(os.environ["TCPX_CUDA_LIBRARY"])
for name in ("cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemsetD8Async"):
    getattr(DRIVER, name).argtypes = {
        "cuMemAlloc_v2": [ctypes.c_void_p, ctypes.c_size_t],
        "cuMemcpyHtoD_v2": [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t],
        "cuMemcpyDtoH_v2": [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t],
        "cuMemsetD8Async": [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p],
    }[name]
DRIVER.fakecuda_hold.argtypes = [ctypes.c_bool]
DRIVER.fakecuda_hold.restype = None


def cu(name, *words):
    result = getattr(DRIVER, name)(*words)
    assert result == 0, "%s: CUDA error %d" % (name, result)


class Stream:
    """A stream as torch has them."""

    def __init__(self):
        handle = ctypes.c_void_p()
        cu("cuStreamCreate", ctypes.byref(handle), 0)
        self.cuda_stream = handle.value

    def record_event(self):
        event = type("Event", (), {})()
        handle = ctypes.c_void_p()
        cu("cuEventCreate", ctypes.byref(handle), 0)
        cu("cuEventRecord", handle, ctypes.c_void_p(self.cuda_stream))
        event.cuda_event = handle.value
        return event

    def fill(self, array, byte):
        cu("cuMemsetD8Async", array.address, byte, SIZE, self.cuda_stream)

    def synchronize(self):
        cu("cuStreamSynchronize", ctypes.c_void_p(self.cuda_stream))


class Array:
    """GPU memory under the interface of GPU arrays."""

    def __init__(self, data=None):
        address = ctypes.c_uint64()
        cu("cuMemAlloc_v2", ctypes.byref(address), SIZE)
        self.address = address.value
        self.__cuda_array_interface__ = {"data": (self.address, False), "shape": (SIZE,),
                                         "typestr": "|u1", "version": 3}
        cu("cuMemcpyHtoD_v2", self.address, data or bytes(SIZE), SIZE)

    def read(self):
        out = ctypes.create_string_buffer(SIZE)
        cu("cuMemcpyDtoH_v2", out, self.address, SIZE)
        return out.raw


class Gpu(Pair):
    @classmethod
    def setUpClass(cls):
        context = ctypes.c_void_p()
        cu("cuInit", 0)
        cu("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        cu("cuCtxPushCurrent_v2", context)

    def tearDown(self):
        DRIVER.fakecuda_hold(False)
        super().tearDown()

    def test_gpu_to_gpu_and_back(self):
        source, target, back = Array(pattern(SIZE)), Array(), Array()
        region, remote = self.shared(target)
        self.assertEqual(region.gpu, 0)
        self.peer.write(self.a.register(source), remote, note="x").wait(GUARD_S)
        self.assertEqual(target.read(), pattern(SIZE))
        self.peer.read(self.a.register(back), remote).wait(GUARD_S)
        self.assertEqual(back.read(), pattern(SIZE))

    def test_host_to_gpu(self):
        target = Array()
        _region, remote = self.shared(target)
        self.peer.write(self.a.register(pattern(SIZE)), remote).wait(GUARD_S)
        self.assertEqual(target.read(), pattern(SIZE))

    def test_a_transfer_comes_after_the_work_of_a_stream(self):
        source, target, stream = Array(), Array(), Stream()
        _region, remote = self.shared(target)
        self.peer.wait(GUARD_S)
        local = self.a.register(source)
        DRIVER.fakecuda_hold(True)
        stream.fill(source, 7)
        transfer = self.peer.write(local, remote, note="filled", after=stream)
        transfer.stream_wait(stream)
        stream.fill(source, 9)  # not before the transfer has ended
        for _ in range(100):
            self.assertFalse(transfer.done())
        DRIVER.fakecuda_hold(False)
        transfer.wait(GUARD_S)
        stream.synchronize()
        self.assertEqual(target.read(), b"\7" * SIZE)
        self.assertEqual(source.read(), b"\x09" * SIZE)
        self.assertEqual(self.b.wait_note(GUARD_S).data, b"filled")

    def test_a_prepared_transfer_follows_its_stream_each_time(self):
        source, target, stream = Array(), Array(), Stream()
        _region, remote = self.shared(target)
        transfer = self.peer.prepare(tcpx.WRITE, self.a.register(source), remote)
        for turn in range(1, 6):
            stream.fill(source, turn)
            transfer.post(after=stream.record_event()).wait(GUARD_S)
            self.assertEqual(target.read(), bytes([turn]) * SIZE)

    def test_what_is_no_event_or_stream_is_refused(self):
        _region, remote = self.shared(Array())
        transfer = self.peer.prepare(tcpx.WRITE, self.a.register(Array()), remote)
        with self.assertRaises(TypeError):
            transfer.post(after="stream")
        with self.assertRaises(ValueError):
            transfer.post(after=0)
        with self.assertRaises(TypeError):
            transfer.stream_wait(object())
        self.assertTrue(transfer.done())  # none of these has posted it
        transfer.post().wait(GUARD_S)


if __name__ == "__main__":
    unittest.main()
