# SPDX-License-Identifier: Apache-2.0
"""Regions of memory, and the lists of pieces that transfers name."""
import ctypes
from array import array
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence, Tuple, Union

from ._abi import BLOB_MAX, C
from .errors import check
from .memory import Span

if TYPE_CHECKING:
    from .engine import Engine

LOCAL, REMOTE_READ, REMOTE_WRITE, LEND = 0, 1, 2, 4


class Pieces:
    """A list of pieces of regions, packed as the library takes it.

    Lists may be added. A list may be used for any number of transfers.
    """

    __slots__ = ("regions", "words", "address")

    def __init__(self, regions: Tuple["AnyRegion", ...], words: "array[int]") -> None:
        self.regions = regions
        self.words = words
        self.address: int = words.buffer_info()[0]

    def __len__(self) -> int:
        return len(self.words) // 3

    def __add__(self, other: "List") -> "Pieces":
        more = pack(other)
        return Pieces(self.regions + more.regions, self.words + more.words)

    @property
    def nbytes(self) -> int:
        """Bytes of all pieces."""
        return sum(self.words[2::3])


class _Named:
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

    def __getitem__(self, where: slice) -> Pieces:
        """region[a:b]: bytes a to b, as a list of one piece."""
        start, stop, step = where.indices(self.nbytes)
        if step != 1:
            raise ValueError("a piece has no step")
        return Pieces((self,), array("Q", (self.id, start, max(stop - start, 0))))

    def piece(self, offset: int, nbytes: int) -> Pieces:
        """One piece; the library refuses one that reaches outside the region."""
        return Pieces((self,), array("Q", (self.id, offset, nbytes)))

    def pieces(self, offsets: Sequence[int], nbytes: Union[int, Sequence[int]]) -> Pieces:
        """Pieces at @offsets, each of @nbytes, or of its own length."""
        count = len(offsets)
        words = array("Q", bytes(24 * count))
        words[0::3] = array("Q", (self.id,)) * count
        words[1::3] = array("Q", offsets)
        alike = isinstance(nbytes, int)
        words[2::3] = array("Q", (nbytes,)) * count if alike else array("Q", nbytes)
        return Pieces((self,), words)

    def pages(self, numbers: Iterable[int], page_bytes: int) -> Pieces:
        """The pages with these numbers, in a region that is laid out in pages."""
        return self.pieces([number * page_bytes for number in numbers], page_bytes)

    def close(self) -> None:
        """Gives the name back. Of local memory: ends every transfer that uses it, here and
        at the peers; afterwards no byte of it is read or written."""
        if self._id is not None and self.engine._handle:
            C.tcpx_mem_deregister(self.engine._handle, self._id)
        self._id = None

    def __enter__(self) -> Any:
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
        check(C.tcpx_mem_export(handle, self.id, room, ctypes.byref(size)), "export", handle)
        return room.raw[:size.value]

    @property
    def gpu(self) -> int:
        """The ordinal of the GPU that the memory is on; -1 host memory."""
        handle, gpu = self.engine._need(), ctypes.c_int()
        check(C.tcpx_mem_place(handle, self.id, ctypes.byref(gpu)), "place", handle)
        return gpu.value

    def close(self) -> None:
        super().close()
        self._owner = None


class RemoteRegion(_Named):
    """A peer's memory, by the blob that its owner exported."""

    __slots__ = ()


AnyRegion = _Named
List = Union[_Named, Pieces, Iterable[Union[_Named, Pieces]]]


def pack(pieces: List) -> Pieces:
    """A region stands for all of it; several lists are laid end to end."""
    if isinstance(pieces, Pieces):
        return pieces
    if isinstance(pieces, _Named):
        if pieces._id is None:
            raise ValueError("the region has been closed")
        return Pieces((pieces,), pieces._whole)
    regions = {}
    words = array("Q")
    for one in pieces:
        packed = pack(one)
        regions.update(dict.fromkeys(packed.regions))
        words += packed.words
    return Pieces(tuple(regions), words)
