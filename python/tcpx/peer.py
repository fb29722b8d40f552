# SPDX-License-Identifier: Apache-2.0
"""Another engine, and what is sent to it and fetched from it."""
import ctypes
from typing import TYPE_CHECKING, Any, Dict, Optional

from ._abi import C, PeerInfo
from .errors import check, error
from .region import List, Pieces, pack
from .transfer import Note, Prepared, Transfer, note_bytes
from .wait import until

if TYPE_CHECKING:
    from .engine import Engine

WRITE, READ, SEND, RECV = 1, 2, 3, 4
_byref, _pointer = ctypes.byref, ctypes.c_void_p


class _Prepared:
    """A list that the library holds, checked and packed."""

    def __init__(self, engine: "Engine", pieces: Pieces) -> None:
        self.engine, self.pieces, self.handle = engine, pieces, None
        out = _pointer()
        handle = engine._need()
        check(C.tcpx_list_prepare(handle, pieces.address, len(pieces), _byref(out)), "prepare", handle)
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

    def _need(self) -> int:
        self.engine._need()
        if self._handle is None:
            raise ValueError("the peer has been closed")
        return self._handle

    def _list(self, pieces: List, written: bool) -> Pieces:
        packed = pieces if type(pieces) is Pieces else pack(pieces)
        engine = self.engine
        for region in packed.regions:
            if region.engine is not engine:
                raise ValueError("a region of another engine")
            if written and region.readonly:
                raise ValueError("the memory of a region is read-only, and would be written")
        return packed

    def _move(self, op: int, local: List, remote: List, note: Note, after: Any) -> Transfer:
        if after is not None:
            prepared = self.prepare(op, local, remote)
            return prepared.post(note, after)
        here, there = self._list(local, op == READ), self._list(remote, False)
        data = note_bytes(note)
        out = _pointer()
        call = C.tcpx_write if op == WRITE else C.tcpx_read
        code = call(self._need(), here.address, len(here.words) // 3, there.address,
                    len(there.words) // 3, data, len(data) if data else 0, _byref(out))
        if code:
            check(code, "write" if op == WRITE else "read", self.engine._handle)
        return Transfer(self.engine, out.value, (self, here.regions, there.regions))

    def write(self, local: List, remote: List, note: Note = None, after: Any = None) -> Transfer:
        """Moves local bytes into the peer's memory. The note is delivered once, after the
        last byte is in place. @after: see Prepared.post()."""
        return self._move(WRITE, local, remote, note, after)

    def read(self, local: List, remote: List, note: Note = None, after: Any = None) -> Transfer:
        """Moves the peer's bytes here. The peer gets the note after the last byte has come."""
        return self._move(READ, local, remote, note, after)

    def _tagged(self, call: Any, local: List, tag: int, written: bool) -> Transfer:
        here = self._list(local, written)
        out = _pointer()
        check(call(self._need(), here.address, len(here), tag, _byref(out)),
              "recv" if written else "send", self.engine._handle)
        return Transfer(self.engine, out.value, (self, here.regions))

    def send(self, local: List, tag: int = 0) -> Transfer:
        """The first posted receive of this tag at the peer takes the bytes."""
        return self._tagged(C.tcpx_send, local, tag, False)

    def recv(self, local: List, tag: int = 0) -> Transfer:
        """Takes the next send of this tag from the peer; its nbytes may be fewer."""
        return self._tagged(C.tcpx_recv, local, tag, True)

    receive = recv

    def prepare(self, op: int, local: List, remote: List = ()) -> Prepared:
        """A transfer to be posted many times. @op: tcpx.WRITE, READ."""
        here = _Prepared(self.engine, self._list(local, op in (READ, RECV)))
        there = _Prepared(self.engine, self._list(remote, False))
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
