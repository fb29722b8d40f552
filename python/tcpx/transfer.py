# SPDX-License-Identifier: Apache-2.0
"""A transfer: to wait for, to await, to cancel, to post again."""
import asyncio
import ctypes
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, List, Optional, Union

from ._abi import EAGAIN, NOTE_MAX, C, XferInfo
from .errors import Error, check, error
from .handle import Owned, Unique
from .memory import as_bytes
from .wait import SLICE_MS, until

if TYPE_CHECKING:
    from .engine import Engine

_wait = C.tcpx_wait
Note = Union[bytes, bytearray, memoryview, str, None]


def note_bytes(note: Note) -> Optional[bytes]:
    """A note as bytes; text as UTF-8."""
    if note is None or isinstance(note, bytes):
        data = note
    else:
        data = note.encode() if isinstance(note, str) else as_bytes(note, "a note")
    if data is not None and len(data) > NOTE_MAX:
        raise ValueError("a note of %d bytes: at most %d are allowed" % (len(data), NOTE_MAX))
    return data


def cuda_handle(value: Any, *names: str) -> int:
    """The number of a CUDA event or stream: itself, or what a library keeps it under."""
    if isinstance(value, int):
        return value
    for name in names:
        if hasattr(value, name):
            return int(getattr(value, name))
    if hasattr(value, "__cuda_stream__"):
        return int(value.__cuda_stream__()[1])
    raise TypeError("%s is no CUDA event or stream" % type(value).__name__)


class XferHandle(Owned):
    __slots__ = ()
    free = C.tcpx_xfer_free


class Transfer(Unique):
    """One transfer in progress or ended.

    It holds the regions that it uses. Dropping the last reference to a transfer in
    progress cancels it, with a ResourceWarning; one that is awaited is held by its engine.
    """

    __slots__ = ("engine", "_handle", "_key", "_status", "_nbytes", "_held", "_callbacks",
                 "__weakref__")

    def __init__(self, engine: "Engine", handle: XferHandle, held: Any) -> None:
        self.engine = engine
        self._handle: Optional[XferHandle] = handle
        self._status: Optional[int] = None
        self._nbytes: Optional[int] = None
        self._held = held
        self._callbacks: List[Callable[["Transfer"], Any]] = []
        self._key = key = next(engine._keys)
        engine._live[key] = weakref.ref(self)
        if engine._watching:
            C.tcpx_xfer_watch(handle, key)

    def _need(self) -> XferHandle:
        self.engine._need()
        handle = self._handle
        if handle is None:
            raise ValueError("the transfer has been closed")
        return handle

    def _code(self) -> int:
        """How it stands: EAGAIN in progress, 0 done, else why it failed."""
        if self._status is None:
            code: int = C.tcpx_test(self._need())
            if code == EAGAIN:
                return code
            self._status = code
        return self._status

    def _failure(self) -> Optional[Error]:
        if not self._status:
            return None
        try:
            cause = str(self.info()["cause"])
        except (ValueError, RuntimeError):
            cause = ""  # it has been closed, or its engine
        return error(self._status, "transfer", cause)

    def _raise(self) -> None:
        failure = self._failure()
        if failure:
            raise failure

    def _ended(self, status: int, nbytes: Optional[int]) -> None:
        """Its event has been taken. Callbacks run in the thread that took it."""
        self._status = status
        self._nbytes = nbytes
        self._call_back()

    def _call_back(self) -> None:
        """Calls each callback once, whichever thread takes it from the list."""
        self.engine._pending.discard(self)
        while self._callbacks:
            try:
                callback = self._callbacks.pop(0)
            except IndexError:
                return
            callback(self)

    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._code() != EAGAIN

    def exception(self) -> Optional[Error]:
        """Why it failed; None of one that is done or in progress."""
        return self._failure() if self.done() else None

    def wait(self, timeout: Optional[float] = None) -> None:
        """Waits for the end, and raises what it failed with. TimeoutError after @timeout
        seconds; the transfer goes on. This thread does the I/O meanwhile."""
        if self._status is None:
            handle = self._handle or self._need()
            # Most end within one slice: the call itself, without until()'s.
            code = _wait(handle, SLICE_MS) if timeout is None else EAGAIN
            if code == EAGAIN:
                code = until(_wait, handle, timeout, "transfer")
            self._status = code
        if self._status:
            self._raise()

    result = wait

    @property
    def nbytes(self) -> int:
        """Bytes in place so far; of a receive it may end with fewer than its room."""
        if self._nbytes is None:
            done = int(self.info()["bytes_done"])
            if self._status is None:
                return done
            self._nbytes = done
        return self._nbytes

    def info(self) -> Dict[str, Any]:
        """State, figures and cause of failure; the members of struct tcpx_xfer_info."""
        info = XferInfo(struct_size=ctypes.sizeof(XferInfo))
        check(C.tcpx_xfer_query(self._need(), ctypes.byref(info)), "query")
        return info.as_dict()

    def cancel(self) -> None:
        """Ends it if it is in progress. Afterwards no byte moves from or to local memory."""
        if self._status is None:
            C.tcpx_cancel(self._need())

    def add_done_callback(self, call: Callable[["Transfer"], Any]) -> None:
        """@call gets the transfer when the asyncio reader or Engine.poll() learns of its end."""
        if self._status is not None:
            call(self)
            return
        self.engine._watch()
        self.engine._pending.add(self)
        self._callbacks.append(call)
        if self._status is not None:  # another thread has taken its event meanwhile
            self._call_back()

    def __await__(self) -> Generator[Any, None, None]:
        """Until it has ended; raises what it failed with. Cancelling the await cancels the
        transfer; asyncio.shield() keeps it going."""
        self.engine.attach()
        if not self.done():
            future = asyncio.get_running_loop().create_future()
            self.add_done_callback(lambda _: None if future.done() else future.set_result(None))
            try:
                yield from future
            except asyncio.CancelledError:
                self.cancel()
                raise
        self._raise()

    def stream_wait(self, stream: Any) -> None:
        """Makes a CUDA stream (torch's, an int) wait for the end. Keep the transfer until
        the stream has passed."""
        number = cuda_handle(stream, "cuda_stream", "ptr")
        check(C.tcpx_xfer_stream_wait(self._need(), number), "stream_wait")

    def close(self) -> None:
        """Cancels it if it is in progress, which ends the waits of other threads, and gives up
        the regions."""
        handle, self._handle = self._handle, None
        if handle:
            self.engine._live.pop(self._key, None)
            if self._status is None and not self.engine._calls.gone:
                try:
                    C.tcpx_cancel(handle)
                except ValueError:
                    pass  # the engine was closed meanwhile
            del handle
        self._held = None

    def __del__(self) -> None:
        try:
            if self._status is None and self._handle and not self.done():
                warnings.warn("a transfer in progress was dropped, and is cancelled",
                              ResourceWarning, stacklevel=2)
        except (ValueError, RuntimeError):
            pass  # its engine has been closed
        self.close()


class Prepared(Transfer):
    """A transfer over lists that were checked and packed once, to be posted many times."""

    __slots__ = ("_after",)

    def __init__(self, engine: "Engine", handle: XferHandle, held: Any) -> None:
        super().__init__(engine, handle, held)
        self._after: Any = None
        self._status = 0

    def post(self, note: Note = None, after: Any = None) -> "Prepared":
        """Starts it, with a note. @after: a CUDA event that has been recorded, or a stream
        of torch whose work so far comes first. CallError while it is in progress."""
        data, event, number = note_bytes(note), None, None
        if after is not None:
            event = after.record_event() if hasattr(after, "record_event") else after
            number = cuda_handle(event, "cuda_event", "ptr")
            if not number:
                raise ValueError("the event has not been recorded")
        handle, before, self._status = self._need(), self._status, None
        code = C.tcpx_xfer_post_after(handle, number, data, len(data or b""))
        if code:
            self._status = before
            check(code, "post")
        self._nbytes, self._after = None, event
        return self
