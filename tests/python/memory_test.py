#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the bytes of an object are found, and how long a registration holds it."""
import array
import ctypes
import gc
import mmap
import unittest
import weakref

from rig import GUARD_S, Pair, pattern
from tcpx import memory
import tcpx

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None


class Held(bytearray):
    """A buffer that can be referenced weakly."""


class CudaArray:
    """Memory of a bytearray under the interface of GPU arrays."""

    def __init__(self, nbytes, strides=None, readonly=False):
        self.bytes = bytearray(nbytes)
        self.__cuda_array_interface__ = {
            "data": (memory.span(self.bytes).address, readonly), "shape": (nbytes // 8, 2),
            "strides": strides, "typestr": "<f4", "version": 3}


class Tensor:
    """Memory of a bytearray under the methods of torch's tensors."""

    def __init__(self, nbytes, contiguous=True):
        self.bytes = bytearray(nbytes)
        self.contiguous = contiguous

    def data_ptr(self):
        return memory.span(self.bytes).address

    def numel(self):
        return len(self.bytes) // self.element_size()

    def element_size(self):
        return 8

    def is_contiguous(self):
        return self.contiguous


class DlpackArray:
    """A bytearray's 16-bit numbers from number @first on, by DLPack; no numpy needed."""

    def __init__(self, value, first):
        self.value = value
        self.shape = (ctypes.c_int64 * 1)(len(value) // 2 - first)
        # data, byte_offset and between them: device 1 (host), one dimension of int16
        self.tensor = memory._DLTensor(memory.span(value).address, 1, 0, 1, 0, 16, 1, self.shape,
                                       None, 2 * first)

    def __dlpack__(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


class Spans(unittest.TestCase):
    def test_buffers_of_the_language(self):
        for value in (bytearray(100), bytes(100), array.array("d", [0.0] * 13), mmap.mmap(-1, 4096),
                      memoryview(bytearray(64))[8:24]):
            view = memoryview(value)
            where = memory.span(value)
            self.assertEqual((where.nbytes, where.readonly), (view.nbytes, view.readonly))
            view.release()

    def test_a_bytearray_cannot_be_resized_while_it_is_held(self):
        value = bytearray(100)
        where = memory.span(value)
        with self.assertRaises(BufferError):
            value.extend(b"more")
        del where
        value.extend(b"more")

    def test_what_has_no_bytes_is_refused(self):
        for value in (7, "text", [1, 2], object()):
            with self.assertRaises(TypeError):
                memory.span(value)

    def test_pointers_to_objects_are_refused(self):
        class Member(ctypes.Structure):
            _fields_ = [("O", ctypes.c_int), ("it", ctypes.py_object)]

        class Plain(ctypes.Structure):
            _fields_ = [("O", ctypes.c_int)]
        values = [(ctypes.py_object * 3)(), memoryview((ctypes.py_object * 3)()), Member()]
        if numpy:
            values += [numpy.array([1, "a"], dtype=object),
                       numpy.zeros(2, dtype=[("at", "M8[s]"), ("it", "O")])]
        for value in values:
            with self.assertRaisesRegex(TypeError, "holds Python's objects"):
                memory.span(value)
        self.assertEqual(memory.span(Plain()).nbytes, 4)

    def test_holes_are_refused(self):
        with self.assertRaises(ValueError):
            memory.span(memoryview(bytearray(100))[::2])
        with self.assertRaises(ValueError):
            memory.span(CudaArray(64, strides=(16, 4)))

    def test_cuda_arrays_by_their_interface(self):
        for value in (CudaArray(64), CudaArray(64, strides=(8, 4)), CudaArray(64, readonly=True)):
            where = memory.span(value)
            self.assertEqual(where.address, value.__cuda_array_interface__["data"][0])
            self.assertEqual(where.nbytes, 64)

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_numpy_arrays(self):
        value = numpy.arange(60, dtype=numpy.float32).reshape(3, 4, 5)
        where = memory.span(value)
        self.assertEqual((where.address, where.nbytes), (value.ctypes.data, 240))
        with self.assertRaises(ValueError):
            memory.span(value[:, ::2])
        value.flags.writeable = False
        self.assertTrue(memory.span(value).readonly)

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_dlpack(self):
        class Only:
            def __init__(self, value):
                self.value = value

            def __dlpack__(self):
                return self.value.__dlpack__()
        value = numpy.arange(60, dtype=numpy.int16).reshape(3, 20)
        where = memory.span(Only(value[1:]))
        self.assertEqual((where.address, where.nbytes), (value[1:].ctypes.data, 80))
        with self.assertRaises(ValueError):
            memory.span(Only(value[:, ::2]))

    def test_a_dlpack_tensor_begins_at_its_offset(self):
        value = bytearray(pattern(100))
        where = memory.span(DlpackArray(value, 15))
        self.assertEqual((where.nbytes, where.readonly), (70, False))
        self.assertEqual(ctypes.string_at(where.address, where.nbytes), value[30:])

    def test_tensors(self):
        values = [(Tensor(400), Tensor(64, contiguous=False))]
        if torch:
            values += [(torch.arange(60, dtype=torch.float64, requires_grad=True)[10:],
                        torch.zeros(4, 4).t())]
        for value, turned in values:
            where = memory.span(value)
            self.assertEqual((where.address, where.nbytes), (value.data_ptr(), 400))
            with self.assertRaises(ValueError):
                memory.span(turned)


class Regions(Pair):
    def test_a_region_holds_its_object_until_it_is_closed(self):
        value = Held(pattern(4096))
        gone = weakref.ref(value)
        region = self.a.register(value)
        del value
        gc.collect()
        self.assertIsNotNone(gone())
        region.close()
        gc.collect()
        self.assertIsNone(gone())

    def test_a_transfer_holds_its_regions(self):
        target = bytearray(1 << 20)
        _region, remote = self.shared(target)
        transfer = self.peer.write(self.a.register(Held(pattern(1 << 20))), remote)
        gc.collect()
        transfer.wait(GUARD_S)
        self.assertEqual(target, pattern(1 << 20))

    def test_a_dropped_region_is_deregistered(self):
        before = self.a.counters()["regions"]
        region = self.a.register(bytearray(64))
        self.assertEqual(self.a.counters()["regions"], before + 1)
        del region
        gc.collect()
        self.assertEqual(self.a.counters()["regions"], before)

    def test_read_only_memory_is_never_written(self):
        region, remote = self.shared(bytearray(16))
        fixed = self.a.register(bytes(16))
        with self.assertRaises(ValueError):
            self.b.register(bytes(16), tcpx.REMOTE_WRITE)
        with self.assertRaises(ValueError):
            self.peer.read(fixed, remote)
        with self.assertRaises(ValueError):
            self.peer.recv(fixed)
        self.peer.write(fixed, remote).wait(GUARD_S)
        region.close()

    def test_figures_of_a_region(self):
        region, remote = self.shared(bytearray(100))
        self.assertEqual((len(region), remote.nbytes, region.gpu), (100, 100, -1))
        self.assertLessEqual(len(region.export()), tcpx.BLOB_MAX)
        region.close()
        with self.assertRaises(ValueError):
            region.export()
        with self.assertRaises(tcpx.CallError):
            self.a.import_region(b"no blob")

    def test_pieces(self):
        region = self.a.register(bytearray(100))
        self.assertEqual(region[10:30].words.tolist(), [region.id, 10, 20])
        self.assertEqual(region[90:].nbytes, 10)
        self.assertEqual(region.pages([3, 1], 10).words.tolist(),
                         [region.id, 30, 10, region.id, 10, 10])
        both = region[:5] + region.pieces([50, 60], [1, 2])
        self.assertEqual((len(both), both.nbytes), (3, 8))
        with self.assertRaises(ValueError):
            region[::2]
        with self.assertRaises(TypeError):
            region.pieces([0], "x")

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_pieces_by_numbers_of_numpy(self):
        region = self.a.register(bytearray(100))
        for nbytes in (numpy.int64(5), numpy.array([5, 5])):
            self.assertEqual(region.pieces(numpy.array([1, 2]), nbytes).words.tolist(),
                             [region.id, 1, 5, region.id, 2, 5])


if __name__ == "__main__":
    unittest.main()
