# SPDX-License-Identifier: Apache-2.0
"""Regions of memory, and the lists of pieces that transfers name."""
import ctypes
from array import array
from operator import index
from typing import (TYPE_CHECKING, Any, Dict, Generic, Iterable, Optional, Sequence, Tuple,
                    TypeVar, Union)

from ._abi import BLOB_MAX, C
from .errors import check
from .handle import Unique
from .memory import Span

if TYPE_CHECKING:
    from .engine import Engine

LOCAL, REMOTE_READ, REMOTE_WRITE, LEND = 0, 1, 2, 4

R = TypeVar("R", bound="_Named")


class Pieces(Unique, Generic[R]):
    """A list of pieces of regions, packed as the library takes it.

    Lists may be added. A list may be used for any number of transfers.
    """

    __slots__ = ("regions", "words", "address")

    def __init__(self, regions: Tuple[R, ...], words: "array[int]") -> None:
        self.regions = regions
        self.words = words
        self.address: int = words.buffer_info()[0]

    def __len__(self) -> int:
        return len(self.words) // 3

    def __add__(self, other: "List[R]") -> "Pieces[R]":
        more = pack(other)
        return Pieces(self.regions + more.regions, self.words + more.words)

    @property
    def nbytes(self) -> int:
        """Bytes of all pieces."""
        return sum(self.words[2::3])


class _Named(Unique):
    """What local and imported regions have in common: an engine, an id, a length."""

    __slots__ = ("engine", "nbytes", "_id", "_whole", "_address", "__weakref__")
    readonly = False

    def __init__(self, engine: "Engine", id_: int, nbytes: int) -> None:
        self.engine = engine
        self.nbytes = nbytes
        self._id: Optional[int] = id_
        self._whole = array("Q", (id_, 0, nbytes))
        self._address: int = self._whole.buffer_info()[0]

    @property
    def id(self) -> int:
        """Its number in the engine."""
        self.engine._need()
        if self._id is None:
            raise ValueError("the region has been closed")
        return self._id

    def __len__(self) -> int:
        return self.nbytes

    def __getitem__(self: R, where: slice) -> Pieces[R]:
        """region[a:b]: bytes a to b, as a list of one piece."""
        if not isinstance(where, slice):
            raise TypeError("a region is cut by region[a:b], not by %s" % type(where).__name__)
        start, stop, step = where.indices(self.nbytes)
        if step != 1:
            raise ValueError("a piece has no step")
        return Pieces((self,), array("Q", (self.id, start, max(stop - start, 0))))

    def piece(self: R, offset: int, nbytes: int) -> Pieces[R]:
        """One piece; the library refuses one that reaches outside the region."""
        return Pieces((self,), array("Q", (self.id, offset, nbytes)))

    def pieces(self: R, offsets: Sequence[int],
               nbytes: Union[int, Sequence[int]]) -> Pieces[R]:
        """Pieces at @offsets, each of @nbytes, or of its own length."""
        count = len(offsets)
        words = array("Q", bytes(24 * count))
        words[0::3] = array("Q", (self.id,)) * count
        words[1::3] = array("Q", offsets)
        each: Any = nbytes
        words[2::3] = (array("Q", each) if hasattr(each, "__len__") else
                       array("Q", (index(each),)) * count)
        return Pieces((self,), words)

    def pages(self: R, numbers: Iterable[int], page_bytes: int) -> Pieces[R]:
        """The pages with these numbers, in a region that is laid out in pages."""
        return self.pieces([number * page_bytes for number in numbers], page_bytes)

    def close(self) -> None:
        """Gives the name back. Of local memory: ends every transfer that uses it, here and
        at the peers; afterwards no byte of it is read or written."""
        id_, self._id = self._id, None
        if id_ is not None and not self.engine._calls.gone:
            try:
                C.tcpx_mem_deregister(self.engine._handle, id_)
            except ValueError:
                pass  # the engine was closed meanwhile

    def __enter__(self: R) -> R:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Region(_Named):
    """Registered memory. It holds the object whose memory it is until it is closed."""

    __slots__ = ("_readonly", "_owner")

    def __init__(self, engine: "Engine", id_: int, where: Span) -> None:
        super().__init__(engine, id_, where.nbytes)
        self._readonly = where.readonly
        self._owner: Any = where.owner

    @property
    def readonly(self) -> bool:  # type: ignore[override]
        """Whether the memory may not be written."""
        return self._readonly

    def export(self) -> bytes:
        """The blob that lets peers name the region. Any holder of it may use the region."""
        room, size = ctypes.create_string_buffer(BLOB_MAX), ctypes.c_size_t(BLOB_MAX)
        handle = self.engine._need()
        check(C.tcpx_mem_export(handle, self.id, room, ctypes.byref(size)), "export")
        return room.raw[:size.value]

    @property
    def gpu(self) -> int:
        """The ordinal of the GPU that the memory is on; -1 host memory."""
        handle, gpu = self.engine._need(), ctypes.c_int()
        check(C.tcpx_mem_place(handle, self.id, ctypes.byref(gpu)), "place")
        return gpu.value

    def close(self) -> None:
        owner, self._owner = self._owner, None
        super().close()
        if self.engine._calls.gone:
            self.engine._calls.settle()
        del owner  # the memory is used no more

    def __del__(self) -> None:
        calls = self.engine._calls
        super().close()
        if calls.gone and (calls.open or calls.inside):
            calls.kept.append(self._owner)


class RemoteRegion(_Named):
    """A peer's memory, by the blob that its owner exported."""

    __slots__ = ()


List = Union[R, Pieces[R], Iterable[Union[R, Pieces[R]]]]


def pack(pieces: List[R]) -> Pieces[R]:
    """A region stands for all of it; several lists are laid end to end."""
    given: Any = pieces
    if isinstance(given, Pieces):
        return given
    if isinstance(given, _Named):
        if given._id is None:
            raise ValueError("the region has been closed")
        return Pieces((given,), given._whole)  # type: ignore[arg-type]
    regions: Dict[R, None] = {}
    words = array("Q")
    for one in given:
        packed = pack(one)
        regions.update(dict.fromkeys(packed.regions))
        words += packed.words
    return Pieces(tuple(regions), words)
