# SPDX-License-Identifier: Apache-2.0
"""Another engine, and what is sent to it and fetched from it."""
import ctypes
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from ._abi import NOTE_MAX, C, PeerInfo
from .errors import check, error
from .region import List, Pieces, Region, RemoteRegion, pack
from .transfer import Note, Prepared, Transfer, note_bytes
from .wait import until

if TYPE_CHECKING:
    from .engine import Engine

WRITE, READ, SEND, RECV = 1, 2, 3, 4
_byref, _pointer = ctypes.byref, ctypes.c_void_p
_write, _read = C.tcpx_write, C.tcpx_read


class _Prepared:
    """A list that the library holds, checked and packed."""

    def __init__(self, engine: "Engine", address: int, count: int, held: Any) -> None:
        self.engine, self.held, self.handle = engine, held, None
        out = _pointer()
        handle = engine._need()
        check(C.tcpx_list_prepare(handle, address, count, _byref(out)), "prepare", handle)
        self.handle = out.value

    def __del__(self) -> None:
        if self.handle and self.engine._handle:
            C.tcpx_list_free(self.handle)


class Peer:
    """One incarnation of another engine."""

    __slots__ = ("engine", "_handle", "__weakref__")

    def __init__(self, engine: "Engine", handle: Optional[int]) -> None:
        self.engine = engine
        self._handle = handle

    def __eq__(self, other: object) -> bool:
        """Do both stand for one incarnation of one engine?"""
        return self is other or (isinstance(other, Peer) and self.engine is other.engine and
                                 self._handle is not None and self._handle == other._handle)

    def __hash__(self) -> int:
        return id(self.engine)

    def _need(self) -> int:
        self.engine._need()
        if self._handle is None:
            raise ValueError("the peer has been closed")
        return self._handle

    def _list(self, pieces: List, written: bool) -> Tuple[int, int, Any]:
        """Where the packed list is, how many pieces it has, and what keeps it."""
        kind = type(pieces)
        if (kind is Region or kind is RemoteRegion) and pieces._id is not None:
            if pieces.engine is self.engine and not (written and pieces.readonly):
                return pieces._address, 1, pieces
            regions, found = (pieces,), (pieces._address, 1, pieces)
        else:
            packed = pieces if kind is Pieces else pack(pieces)
            regions, found = packed.regions, (packed.address, len(packed.words) // 3, packed)
        for region in regions:
            if region.engine is not self.engine:
                raise ValueError("a region of another engine")
            if written and region.readonly:
                raise ValueError("the memory of a region is read-only, and would be written")
        return found

    def _move(self, op: int, local: List, remote: List, note: Note, after: Any) -> Transfer:
        if after is not None:
            prepared = self.prepare(op, local, remote)
            return prepared.post(note, after)
        here, count, held = self._list(local, op == READ)
        there, count_there, held_there = self._list(remote, False)
        data = note if type(note) is bytes and len(note) <= NOTE_MAX else note_bytes(note)
        out = _pointer()
        call = _write if op == WRITE else _read
        handle = self._handle if self.engine._handle else None
        code = call(handle or self._need(), here, count, there, count_there, data,
                    len(data) if data else 0, _byref(out))
        if code:
            check(code, "write" if op == WRITE else "read", self.engine._handle)
        return Transfer(self.engine, out.value, (self, held, held_there))

    def write(self, local: List, remote: List, note: Note = None, after: Any = None) -> Transfer:
        """Moves local bytes into the peer's memory. The note is delivered once, after the
        last byte is in place. @after: see Prepared.post()."""
        return self._move(WRITE, local, remote, note, after)

    def read(self, local: List, remote: List, note: Note = None, after: Any = None) -> Transfer:
        """Moves the peer's bytes here. The peer gets the note after the last byte has come."""
        return self._move(READ, local, remote, note, after)

    def _tagged(self, call: Any, local: List, tag: int, written: bool) -> Transfer:
        here, count, held = self._list(local, written)
        out = _pointer()
        check(call(self._need(), here, count, tag, _byref(out)), "recv" if written else "send",
              self.engine._handle)
        return Transfer(self.engine, out.value, (self, held))

    def send(self, local: List, tag: int = 0) -> Transfer:
        """The first posted receive of this tag at the peer takes the bytes."""
        return self._tagged(C.tcpx_send, local, tag, False)

    def recv(self, local: List, tag: int = 0) -> Transfer:
        """Takes the next send of this tag from the peer; its nbytes may be fewer."""
        return self._tagged(C.tcpx_recv, local, tag, True)

    receive = recv

    def prepare(self, op: int, local: List, remote: List = ()) -> Prepared:
        """A transfer to be posted many times. @op: tcpx.WRITE, READ."""
        here = _Prepared(self.engine, *self._list(local, op in (READ, RECV)))
        there = _Prepared(self.engine, *self._list(remote, False))
        out = _pointer()
        check(C.tcpx_xfer_prepare(self._need(), op, here.handle, there.handle, _byref(out)),
              "prepare", self.engine._handle)
        return Prepared(self.engine, out.value, (self, here, there))

    def notify(self, data: Note) -> None:
        """Sends a note, ordered with nothing else."""
        sent = note_bytes(data) or b""
        check(C.tcpx_notify(self._need(), sent, len(sent)), "notify", self.engine._handle)

    def wait(self, timeout: Optional[float] = None) -> None:
        """Until the session is open. Transfers need not wait for it."""
        code = until(C.tcpx_peer_wait, self._need(), timeout, "connecting")
        if code:
            raise error(code, "peer", str(self.info()["cause"]))

    def info(self) -> Dict[str, Any]:
        """How it is reached and what was negotiated; members of struct tcpx_peer_info."""
        info = PeerInfo(struct_size=ctypes.sizeof(PeerInfo))
        check(C.tcpx_peer_query(self._need(), _byref(info)), "query", self.engine._handle)
        return info.as_dict()

    @property
    def name(self) -> str:
        """The name that it gave itself; "" before the handshake."""
        return str(self.info()["name"])

    def close(self) -> None:
        """Gives the handle back; its transfers go on."""
        if self._handle and self.engine._handle:
            C.tcpx_peer_free(self._handle)
        self._handle = None

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
