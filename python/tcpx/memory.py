# SPDX-License-Identifier: Apache-2.0
"""Where an object's bytes are: buffers, numpy and CUDA arrays, tensors, DLPack."""
import ctypes
import re
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_ssize_t, c_uint8, c_uint16
from ctypes import c_uint64, c_void_p, py_object
from typing import Any, NamedTuple, Optional


class Span(NamedTuple):
    """Bytes in memory and what keeps them there."""

    address: int
    nbytes: int
    readonly: bool
    owner: Any


class _PyBuffer(ctypes.Structure):
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t),
                ("readonly", c_int), ("ndim", c_int), ("format", c_char_p), ("shape", c_void_p),
                ("strides", c_void_p), ("suboffsets", c_void_p), ("internal", c_void_p)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("repeat", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


_api = ctypes.pythonapi
_api.PyObject_GetBuffer.argtypes = [py_object, POINTER(_PyBuffer), c_int]
_api.PyBuffer_Release.argtypes = [POINTER(_PyBuffer)]
_api.PyBuffer_Release.restype = None
_api.PyCapsule_GetPointer.argtypes = [py_object, c_char_p]
_api.PyCapsule_GetPointer.restype = c_void_p


class _Buffer:
    """Holds a buffer's export, so that a bytearray cannot move while it is registered."""

    def __init__(self, value: Any) -> None:
        self.view = _PyBuffer()
        self.held = False
        _api.PyObject_GetBuffer(value, ctypes.byref(self.view), 0)
        self.held = True

    def __del__(self) -> None:
        if self.held:
            self.held = False
            _api.PyBuffer_Release(ctypes.byref(self.view))


def _contiguous(shape: Any, strides: Any, item: int) -> int:
    """Bytes of an array without holes; ValueError with holes. Strides in bytes, or None."""
    nbytes = item
    for size, stride in zip(reversed(shape), reversed(strides or (None,) * len(shape))):
        if stride is not None and size > 1 and stride != nbytes:
            raise ValueError("the array is not contiguous; register the whole of it, or a copy")
        nbytes *= size
    return nbytes


def _of_tensor(value: Any) -> Span:
    if not value.is_contiguous():
        raise ValueError("the tensor is not contiguous; register the whole of it, or a copy")
    return Span(value.data_ptr(), value.numel() * value.element_size(), False, value)


def _of_cuda_array(value: Any) -> Span:
    face = value.__cuda_array_interface__
    address, readonly = face["data"]
    nbytes = _contiguous(face["shape"], face.get("strides"), int(face["typestr"][2:]))
    return Span(address, nbytes, bool(readonly), value)


def _of_dlpack(value: Any) -> Span:
    capsule = value.__dlpack__()
    at = _api.PyCapsule_GetPointer(capsule, b"dltensor")
    tensor = _DLTensor.from_address(at)
    item = (tensor.bits * tensor.repeat + 7) // 8
    shape = tensor.shape[:tensor.ndim]
    strides = [s * item for s in tensor.strides[:tensor.ndim]] if tensor.strides else None
    nbytes = _contiguous(shape, strides, item)
    return Span((tensor.data or 0) + tensor.byte_offset, nbytes, False, (capsule, value))


def _has_objects(value: Any) -> bool:
    """Are there pointers to objects of Python in its bytes?"""
    if getattr(getattr(value, "dtype", None), "hasobject", False):
        return True
    try:
        form = memoryview(value).format
    except (TypeError, ValueError, BufferError):
        return False  # none that the language has a letter for
    return "O" in re.sub(":[^:]*:", "", form)  # without the names of members


def span(value: Any) -> Span:
    """Where the bytes of @value are. TypeError if it has none that can be named."""
    if hasattr(value, "data_ptr") and hasattr(value, "element_size"):
        return _of_tensor(value)
    if hasattr(value, "__cuda_array_interface__"):
        return _of_cuda_array(value)
    if _has_objects(value):
        raise TypeError("%s holds Python's objects: its bytes are pointers of this process"
                        % type(value).__name__)
    held: Optional[_Buffer] = None
    try:
        held = _Buffer(value)
    except TypeError:
        if not hasattr(value, "__dlpack__"):
            raise TypeError("%s has no buffer, no __cuda_array_interface__ and no __dlpack__"
                            % type(value).__name__) from None
        return _of_dlpack(value)
    except (BufferError, ValueError) as why:
        raise ValueError("the buffer cannot be registered: %s" % why) from why
    return Span(held.view.buf or 0, held.view.len, bool(held.view.readonly), (held, value))


def as_bytes(value: Any, what: str) -> bytes:
    """A blob or note given in any buffer. TypeError for what is none, as a number."""
    if isinstance(value, bytes):
        return value
    try:
        return memoryview(value).tobytes()
    except TypeError:
        raise TypeError("%s is bytes, not %s" % (what, type(value).__name__)) from None


def as_text(value: Any, what: str) -> bytes:
    """Text for the library, which ends it at a NUL."""
    if not isinstance(value, str):
        raise TypeError("%s is text, not %s" % (what, type(value).__name__))
    if "\0" in value:
        raise ValueError("%s has a NUL: %r" % (what, value))
    return value.encode()
