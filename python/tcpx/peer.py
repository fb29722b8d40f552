# SPDX-License-Identifier: Apache-2.0
"""Another engine, and what is sent to it and fetched from it."""
import ctypes
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Type

from ._abi import NOTE_MAX, C, PeerInfo
from .errors import check, error
from .handle import Owned, Unique
from .region import List, Pieces, R, Region, RemoteRegion, pack
from .transfer import Note, Prepared, Transfer, XferHandle, note_bytes
from .wait import until

if TYPE_CHECKING:
    from .engine import Engine

WRITE, READ, SEND, RECV = 1, 2, 3, 4
_byref = ctypes.byref
_write, _read = C.tcpx_write, C.tcpx_read


class PeerHandle(Owned):
    __slots__ = ()
    free = C.tcpx_peer_free


class _ListHandle(Owned):
    """A list that the library holds, checked and packed."""

    __slots__ = ("held",)
    free = C.tcpx_list_free

    def __init__(self, engine: "Engine", address: int, count: int, held: Any) -> None:
        self.calls, self.held = engine._calls, held
        check(C.tcpx_list_prepare(engine._need(), address, count, _byref(self)), "prepare")


class Peer(Unique):
    """One incarnation of another engine."""

    __slots__ = ("engine", "_handle", "__weakref__")

    def __init__(self, engine: "Engine", handle: PeerHandle) -> None:
        self.engine = engine
        self._handle: Optional[PeerHandle] = handle

    def __eq__(self, other: object) -> bool:
        """Do both stand for one incarnation of one engine?"""
        if not isinstance(other, Peer):
            return False
        mine, its = self._handle, other._handle
        return self is other or (mine is not None and its is not None and
                                 self.engine is other.engine and mine.value == its.value)

    def __hash__(self) -> int:
        return id(self.engine)

    def _need(self) -> PeerHandle:
        self.engine._need()
        handle = self._handle
        if handle is None:
            raise ValueError("the peer has been closed")
        return handle

    def _list(self, pieces: List[R], kind: Type[R], written: bool) -> Tuple[int, int, Any]:
        """Where the packed list is, how many pieces it has, and what keeps it."""
        if (isinstance(pieces, kind) and pieces._id is not None and
                pieces.engine is self.engine and not (written and pieces.readonly)):
            return pieces._address, 1, pieces
        packed = pack(pieces)
        for region in packed.regions:
            if not isinstance(region, kind):
                raise TypeError("a %s where a %s belongs: memory of this engine comes first, that "
                                "of the peer after it" % (type(region).__name__, kind.__name__))
            if region.engine is not self.engine:
                raise ValueError("a region of another engine")
            if written and region.readonly:
                raise ValueError("the memory of a region is read-only, and would be written")
        return packed.address, len(packed.words) // 3, packed

    def _move(self, op: int, local: List[Region], remote: List[RemoteRegion], note: Note,
              after: Any) -> Transfer:
        if after is not None:
            prepared = self.prepare(op, local, remote)
            return prepared.post(note, after)
        here, count, held = self._list(local, Region, op == READ)
        there, count_there, held_there = self._list(remote, RemoteRegion, False)
        data = note if type(note) is bytes and len(note) <= NOTE_MAX else note_bytes(note)
        out = XferHandle.room(self.engine._calls)
        call = _write if op == WRITE else _read
        code = call(self._handle or self._need(), here, count, there, count_there, data,
                    len(data) if data else 0, _byref(out))
        if code:
            check(code, "write" if op == WRITE else "read")
        return Transfer(self.engine, out, (self, held, held_there))

    def write(self, local: List[Region], remote: List[RemoteRegion], note: Note = None,
              after: Any = None) -> Transfer:
        """Moves local bytes into the peer's memory. The note is delivered once, after the
        last byte is in place. @after: see Prepared.post()."""
        return self._move(WRITE, local, remote, note, after)

    def read(self, local: List[Region], remote: List[RemoteRegion], note: Note = None,
             after: Any = None) -> Transfer:
        """Moves the peer's bytes here. The peer gets the note after the last byte has come."""
        return self._move(READ, local, remote, note, after)

    def _tagged(self, call: Any, local: List[Region], tag: int, written: bool) -> Transfer:
        here, count, held = self._list(local, Region, written)
        out = XferHandle.room(self.engine._calls)
        check(call(self._need(), here, count, tag, _byref(out)), "recv" if written else "send")
        return Transfer(self.engine, out, (self, held))

    def send(self, local: List[Region], tag: int = 0) -> Transfer:
        """The first posted receive of this tag at the peer takes the bytes."""
        return self._tagged(C.tcpx_send, local, tag, False)

    def recv(self, local: List[Region], tag: int = 0) -> Transfer:
        """Takes the next send of this tag from the peer; its nbytes may be fewer."""
        return self._tagged(C.tcpx_recv, local, tag, True)

    receive = recv

    def prepare(self, op: int, local: List[Region],
                remote: List[RemoteRegion] = ()) -> Prepared:
        """A transfer to be posted many times. @op: tcpx.WRITE, READ."""
        here = _ListHandle(self.engine, *self._list(local, Region, op in (READ, RECV)))
        there = _ListHandle(self.engine, *self._list(remote, RemoteRegion, False))
        out = XferHandle.room(self.engine._calls)
        check(C.tcpx_xfer_prepare(self._need(), op, here, there, _byref(out)), "prepare")
        return Prepared(self.engine, out, (self, here, there))

    def notify(self, data: Note) -> None:
        """Sends a note, ordered with nothing else."""
        sent = note_bytes(data) or b""
        check(C.tcpx_notify(self._need(), sent, len(sent)), "notify")

    def wait(self, timeout: Optional[float] = None) -> None:
        """Until the session is open. Transfers need not wait for it."""
        code = until(C.tcpx_peer_wait, self._need(), timeout, "connecting")
        if code:
            raise error(code, "peer", str(self.info()["cause"]))

    def info(self) -> Dict[str, Any]:
        """How it is reached and what was negotiated; members of struct tcpx_peer_info."""
        info = PeerInfo(struct_size=ctypes.sizeof(PeerInfo))
        check(C.tcpx_peer_query(self._need(), _byref(info)), "query")
        return info.as_dict()

    @property
    def name(self) -> str:
        """The name that it gave itself; "" before the handshake."""
        return str(self.info()["name"])

    def close(self) -> None:
        """Gives the handle back; its transfers go on."""
        self._handle = None

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
