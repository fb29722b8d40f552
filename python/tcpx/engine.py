# SPDX-License-Identifier: Apache-2.0
"""An engine: a process's endpoint, with its threads, NICs, memory and peers."""
import asyncio
import ctypes
import itertools
import os
import time
import weakref
from functools import partial
from typing import (Any, AsyncIterator, Dict, List, Mapping, NamedTuple, Optional, Set, Type,
                    Union)

from . import _abi, log as _log, memory
from ._abi import EAGAIN, METADATA_MAX, C
from .errors import ECLOSED, Error, ForkedError, check, error
from .handle import CLOSED, Calls, Handle, Unique
from .memory import as_bytes, as_text
from .peer import Peer, PeerHandle
from .reader import Reader
from .region import LOCAL, REMOTE_WRITE, Region, RemoteRegion
from .transfer import Transfer
from .wait import SLICE_MS, until

_BATCH = 256
_byref, _size_t, _pointer = ctypes.byref, ctypes.c_size_t, ctypes.c_void_p
_string_at, _tuple = ctypes.string_at, tuple.__new__
_note_wait, _note_free = C.tcpx_note_wait, C.tcpx_note_free
_note_data, _note_sender = C.tcpx_note_data, C.tcpx_note_sender
_note_peer = C.tcpx_note_peer


class _Note(NamedTuple):
    sender: str
    data: bytes


class Note(_Note):
    """Bytes that a peer sent, and the name it gave itself. Anybody who may connect can claim a
    name; `peer` tells whose session brought it: equal to another Peer of that engine, None where
    it is no more."""

    peer: Optional[Peer] = None


class PeerEvent(NamedTuple):
    """A peer has come up, or gone down for the reason in `status`."""

    name: str
    incarnation: int
    up: bool
    status: int


class Engine(Unique):
    """Starts an endpoint.

    @name: the name that peers see, at most 63 bytes; by default host:pid.
    @listen: "PORT", "ADDR:PORT" or "off"; by default any free port of every NIC.
    @settings: {"TCPX_NICS": "eth1,eth2"}, before the environment and files.
    @peer_events: next_peer_event() and poll() report peers that come up and go down.
    @log: "WARN", "INFO", "DEBUG", "TRACE": lines for log_lines(), which the asyncio reader
          passes to the logger "tcpx". The library has one sink for all engines.
    @note_limit: how many untaken notes the asyncio reader keeps.

    Calls may be made from any thread; close() waits for those that are under way.
    """

    def __init__(self, name: Optional[str] = None, listen: Optional[str] = None,
                 settings: Optional[Mapping[str, Any]] = None, peer_events: bool = False,
                 log: Optional[str] = None, note_limit: int = 65536) -> None:
        self._calls = Calls()
        self._handle = Handle.room(self._calls)
        self._reader: Optional[Reader] = None
        self._keys = itertools.count(1)
        self._live: "Dict[int, weakref.ref[Transfer]]" = {}
        self._watching = False
        self._pending: Set[Transfer] = set()
        self.note_limit = note_limit
        self._logs = log is not None
        lines = ["%s=%s" % one for one in (settings or {}).items()]
        if log is not None:
            lines += ["TCPX_DEBUG=" + log, "TCPX_DEBUG_FILE=" + _log.path()]
        words = (ctypes.c_char_p * (len(lines) + 1))(*[as_text(one, "a setting") for one in lines])
        opts = _abi.EngineOpts(
            struct_size=ctypes.sizeof(_abi.EngineOpts), settings=words,
            name=as_text(name, "a name") if name else None, peer_events=int(peer_events),
            listen=as_text(listen, "listen") if listen is not None else None)
        check(C.tcpx_open(_byref(opts), _byref(self._handle)), "open")
        _engines.add(self)

    def _need(self) -> Handle:
        gone = self._calls.gone
        if gone:
            raise gone[0](gone[1])
        return self._handle

    # ---- the endpoint

    @property
    def port(self) -> int:
        """Port of its listener."""
        return int(C.tcpx_port(self._need()))

    def metadata(self) -> bytes:
        """The blob for add_peer() of another engine: name, incarnation, addresses."""
        room, size = ctypes.create_string_buffer(METADATA_MAX), ctypes.c_size_t(METADATA_MAX)
        handle = self._need()
        check(C.tcpx_metadata(handle, room, _byref(size)), "metadata")
        return room.raw[:size.value]

    def fileno(self) -> int:
        """A descriptor that is readable while a note or an event waits: for select()."""
        self._watch()
        return int(C.tcpx_event_fd(self._need()))

    def close(self, timeout: Optional[float] = 0) -> None:
        """Ends every transfer and frees everything, after the calls under way of other threads:
        what waits there ends with ValueError within 0.2 s. @timeout: seconds that open transfers
        get to finish (None: no limit); TimeoutError if one had to be ended. RuntimeError while
        another thread runs an asyncio loop that reads this engine: close it there."""
        if not self._handle:
            return  # it was never opened
        if self._reader and self._reader.runs_elsewhere():
            raise RuntimeError("close(): another thread's asyncio loop reads this engine; close or "
                               "detach() it there")
        end: Any = partial(C.tcpx_close, self._handle)
        if timeout != 0 and not self._calls.gone:
            left = self._finish(timeout)
            end = partial(C.tcpx_close_wait, self._handle, -1 if left is None else int(left * 1000))
        _engines.discard(self)
        self._leave(ValueError(CLOSED))
        self._calls.shut(end)
        self._calls.settle()
        pending, self._pending = self._pending, set()  # their callbacks may call this, too
        for transfer in pending:
            transfer._ended(ECLOSED, None)
        code, self._calls.code = self._calls.code, 0
        if code:
            raise TimeoutError("transfers were ended: not within %g seconds" % (timeout or 0))

    def _finish(self, timeout: Optional[float]) -> Optional[float]:
        """Waits for transfers, so that threads which wait for them see their ends. What is left
        of @timeout. A receive without its send has no bytes, and is not waited for."""
        end = None if timeout is None else time.monotonic() + timeout
        left = timeout
        for known in list(self._live.values()):
            transfer = known()
            try:
                if transfer is not None and not transfer.done() and transfer.info()["bytes_total"]:
                    transfer.wait(left)
            except (Error, TimeoutError, ValueError):
                pass
            left = None if end is None else max(0.0, end - time.monotonic())
        return left

    def _leave(self, why: BaseException) -> None:
        if self._reader:
            self._reader.close(why)
            self._reader = None

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    # ---- memory

    def register(self, value: Any, access: int = LOCAL) -> Region:
        """Makes memory usable in transfers: a buffer, a numpy array, a tensor on host or GPU,
        anything with __cuda_array_interface__ or __dlpack__. The region holds @value.
        @access: tcpx.LOCAL, or REMOTE_READ, REMOTE_WRITE and LEND (TCPX_MEM_LEND) or-ed."""
        return self._register(memory.span(value), access)

    def register_pointer(self, address: int, nbytes: int, access: int = LOCAL,
                         owner: Any = None) -> Region:
        """The same for an address. @owner: held until the region is closed."""
        return self._register(memory.Span(address, nbytes, False, owner), access)

    def _register(self, where: memory.Span, access: int) -> Region:
        if where.readonly and access & REMOTE_WRITE:
            raise ValueError("the memory is read-only, and peers would write it")
        number = ctypes.c_uint64()
        check(C.tcpx_mem_register(self._need(), where.address, where.nbytes, access,
                                  _byref(number)), "register")
        return Region(self, number.value, where)

    def import_region(self, blob: bytes) -> RemoteRegion:
        """A peer's memory, by the blob of Region.export()."""
        handle, number, size = self._need(), ctypes.c_uint64(), ctypes.c_uint64()
        blob = as_bytes(blob, "a region's blob")
        check(C.tcpx_mem_import(handle, blob, len(blob), _byref(number)), "import")
        check(C.tcpx_mem_query(handle, number.value, None, _byref(size)), "import")
        return RemoteRegion(self, number.value, size.value)

    # ---- peers

    def add_peer(self, blob: bytes) -> Peer:
        """A peer by its metadata. It connects in the background; transfers may be posted."""
        blob, out = as_bytes(blob, "an engine's metadata"), PeerHandle.room(self._calls)
        check(C.tcpx_peer_add(self._need(), blob, len(blob), _byref(out)), "add_peer")
        return Peer(self, out)

    def connect(self, host_port: str) -> Peer:
        """A peer by "HOST:PORT". Looking up a host's name may take a while."""
        text, out = as_text(host_port, "HOST:PORT"), PeerHandle.room(self._calls)
        check(C.tcpx_peer_connect(self._need(), text, _byref(out)), "connect")
        return Peer(self, out)

    def find_peer(self, name: str) -> Optional[Peer]:
        """A peer that connected to us or was added by us; None."""
        text, out = as_text(name, "a name"), PeerHandle.room(self._calls)
        code = C.tcpx_peer_find(self._need(), text, _byref(out))
        if code == -2:
            return None
        check(code, "find_peer")
        return Peer(self, out)

    # ---- notes and events

    def _taken(self, handle: Optional[int]) -> Note:
        size, peer = _size_t(), PeerHandle.room(self._calls)
        data = _note_data(handle, _byref(size))
        note = _tuple(Note, (_note_sender(handle).decode("utf-8", "replace"),
                             _string_at(data, size.value)))
        try:
            if _note_peer(self._handle, handle, _byref(peer)) == 0:
                note.peer = Peer(self, peer)
        except ValueError:
            pass  # the engine was closed meanwhile
        finally:
            _note_free(handle)
        return note

    def _note_get(self) -> Optional[Note]:
        out = ctypes.c_void_p()
        code = C.tcpx_note_get(self._need(), _byref(out))
        if code == EAGAIN:
            return None
        check(code, "note")
        return self._taken(out.value)

    def take_note(self) -> Optional[Note]:
        """The oldest note, or None at once."""
        note: Optional[Note] = self._reader.pop_note() if self._reader else None
        return note or self._note_get()

    def wait_note(self, timeout: Optional[float] = None) -> Note:
        """The oldest note; TimeoutError after @timeout seconds. Not while a reader is attached."""
        if self._reader:
            self._refuse_reader("wait_note")
        handle, out = self._handle, _pointer()
        # Most notes come within one slice: the call itself, without until()'s.
        code = _note_wait(handle, SLICE_MS, _byref(out)) if timeout is None else EAGAIN
        if code == EAGAIN:
            code = until(_note_wait, handle, timeout, "note", _byref(out))
        if code:
            check(code, "note")
        return self._taken(out.value)

    def _watch(self) -> None:
        """From now on the ends of all transfers are events."""
        self._need()
        if not self._watching:
            self._watching = True
            for known in list(self._live.values()):
                transfer = known()
                handle = transfer._handle if transfer is not None else None
                if transfer is not None and handle:
                    C.tcpx_xfer_watch(handle, transfer._key)

    def _refuse_reader(self, call: str) -> None:
        if self._reader and not self._reader.loop.is_closed():
            raise RuntimeError("%s(): an asyncio loop reads this engine; await there" % call)

    def _took(self, events: List[_abi.Event]) -> List[Union[Transfer, PeerEvent]]:
        """Transfers that have ended, and peers' events where no reader keeps them."""
        reader, happened = self._reader, []  # type: Optional[Reader], List[Any]
        for event in events:
            if event.kind == 1:
                known = self._live.get(event.user)
                transfer = known() if known else None
                if transfer is not None:
                    transfer._ended(event.status, event.bytes)
                    happened.append(transfer)
            else:
                peer = PeerEvent(event.peer.decode("utf-8", "replace"), event.incarnation,
                                 event.kind == 2, event.status)
                if reader:
                    reader.peer(peer)
                else:
                    happened.append(peer)
        return happened

    def _take_events(self) -> None:
        """All that wait. What comes meanwhile keeps the descriptor readable."""
        events, count = (_abi.Event * _BATCH)(), ctypes.c_size_t(_BATCH)
        code = 0
        while code == 0 and count.value == _BATCH and not self._calls.gone:
            code = C.tcpx_event_get(self._need(), events, ctypes.sizeof(_abi.Event), _byref(count))
            if code == 0:
                self._took(events[:count.value])

    def poll(self, timeout: Optional[float] = 0) -> List[Union[Transfer, PeerEvent]]:
        """Transfers that have ended and PeerEvents, at most 256; waits @timeout seconds
        (None: no limit) for the first. Not while a reader is attached."""
        self._refuse_reader("poll")
        self._watch()
        events, count = (_abi.Event * _BATCH)(), ctypes.c_size_t(_BATCH)
        try:
            until(C.tcpx_event_wait, self._need(), timeout, "events", events,
                  ctypes.sizeof(_abi.Event), _byref(count))
        except TimeoutError:
            return []
        return self._took(events[:count.value])

    # ---- asyncio

    def attach(self) -> Reader:
        """Lets the running loop read this engine's descriptor; what is awaited does so itself.
        One loop at a time; RuntimeError while another one has it."""
        loop = asyncio.get_running_loop()
        if self._reader and self._reader.loop is not loop:
            self._refuse_reader("attach")
            self._reader = None
        if not self._reader:
            self._watch()
            self._reader = Reader(self, loop, self.note_limit)
        return self._reader

    def detach(self) -> None:
        """The loop no longer reads; poll() and wait_note() may be called again."""
        self._leave(RuntimeError("the engine has been detached from its loop"))

    async def next_note(self) -> Note:
        """The oldest note, when there is one."""
        reader = self.attach()
        note: Note = await reader.next(reader.notes)
        return note

    async def notes(self) -> AsyncIterator[Note]:
        """async for note in engine.notes(): for ever."""
        while True:
            yield await self.next_note()

    async def next_peer_event(self) -> PeerEvent:
        """A peer's latest state, when one has changed; the engine has peer_events=True."""
        reader = self.attach()
        event: PeerEvent = await reader.next(reader.peers)
        return event

    def _pass_log(self) -> None:
        if self._logs:
            _log.pass_on()

    # ---- figures

    def counters(self) -> Dict[str, int]:
        """Totals since it was opened; the members of struct tcpx_counters."""
        counters = _abi.Counters(struct_size=ctypes.sizeof(_abi.Counters))
        check(C.tcpx_query(self._need(), _byref(counters)), "counters")
        return counters.as_dict()

    def _table(self, call: Any, kind: Type[_abi.Struct]) -> List[Dict[str, Any]]:
        handle, room = self._need(), 0
        while True:
            count = ctypes.c_size_t(room)
            out = (kind * room)() if room else None
            code = call(handle, out, ctypes.sizeof(kind), _byref(count))
            if code:
                raise error(code, "query")
            if count.value <= room:
                return [one.as_dict() for one in (out or [])[:count.value]]
            room = count.value

    def channels(self) -> List[Dict[str, Any]]:
        """All connections; the members of struct tcpx_channel_info."""
        return self._table(C.tcpx_query_channels, _abi.ChannelInfo)

    def threads(self) -> List[Dict[str, Any]]:
        """The I/O threads; the members of struct tcpx_thread_info."""
        return self._table(C.tcpx_query_threads, _abi.ThreadInfo)

    def nics(self) -> List[Dict[str, Any]]:
        """The NICs in use; the members of struct tcpx_nic_info."""
        return self._table(C.tcpx_query_nics, _abi.NicInfo)


_engines: "weakref.WeakSet[Engine]" = weakref.WeakSet()


def _in_child() -> None:
    """After fork() no engine of the parent may be used, nor closed."""
    for engine in list(_engines):
        calls = engine._calls
        calls.gone = ForkedError, ("the engine was opened by process %d, before the fork; open one "
                                   "in this process" % os.getppid())
        calls.inside, calls.open = [], []  # threads of the parent's
        engine._reader = None


os.register_at_fork(after_in_child=_in_child)
