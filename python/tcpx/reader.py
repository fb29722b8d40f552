# SPDX-License-Identifier: Apache-2.0
"""The one reader of an engine's descriptor in an asyncio loop."""
import asyncio
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Deque, Tuple

if TYPE_CHECKING:
    from .engine import Engine, Note, PeerEvent

FULL_PAUSE_S = 0.01


class Reader:
    """Takes completions, notes and peer events each time the descriptor is readable.

    At @note_limit untaken notes it leaves the next ones with the library, looks a hundred
    times a second instead of sleeping on the descriptor, and goes on as before once a note
    has been taken. Beyond the library's own limit, notes wait at their senders.
    """

    def __init__(self, engine: "Engine", loop: asyncio.AbstractEventLoop, note_limit: int) -> None:
        self.engine, self.loop, self.note_limit = engine, loop, note_limit
        self.notes: Deque["Note"] = deque()
        self.peers: "OrderedDict[Tuple[str, int], PeerEvent]" = OrderedDict()
        self.waiting: Deque[Tuple[Any, asyncio.Future[Any]]] = deque()
        self.wakeups = 0
        self.fd = engine.fileno()
        self.timer: Any = None
        loop.add_reader(self.fd, self._readable)

    def _readable(self) -> None:
        self.wakeups += 1
        self.timer = None
        self.engine._take_events()
        if self.engine._reader is not self:
            return  # a callback has closed or detached it
        while len(self.notes) < self.note_limit:
            note = self.engine._note_get()
            if note is None:
                break
            self.notes.append(note)
        else:
            self.loop.remove_reader(self.fd)
            self.timer = self.loop.call_later(FULL_PAUSE_S, self._readable)
        self._hand_out()
        self.engine._pass_log()

    def _hand_out(self) -> None:
        """Notes and peer events to those who wait for them, the first first."""
        left: Deque[Tuple[Any, asyncio.Future[Any]]] = deque()
        while self.waiting:
            source, future = self.waiting.popleft()
            if future.done():
                continue
            if source:
                future.set_result(self._pop(source))
            else:
                left.append((source, future))
        self.waiting = left

    def _pop(self, source: Any) -> Any:
        if source is self.peers:
            return source.popitem(last=False)[1]
        if self.timer is not None and len(source) <= self.note_limit:
            self.timer.cancel()
            self.timer = None
            self.loop.add_reader(self.fd, self._readable)
        return source.popleft()

    def pop_note(self) -> Any:
        """The oldest note, or None."""
        return self._pop(self.notes) if self.notes else None

    async def next(self, source: Any) -> Any:
        """The oldest of @source, self.notes or self.peers, when there is one."""
        if source and not any(one is source for one, _ in self.waiting):
            return self._pop(source)
        future = self.loop.create_future()
        self.waiting.append((source, future))
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and not future.exception():
                self._put_back(source, future.result())
            raise

    def _put_back(self, source: Any, one: Any) -> None:
        """Gives what a cancelled wait was given to the next who waits."""
        if source is self.notes:
            source.appendleft(one)
        elif (one.name, one.incarnation) not in source:  # else there is a later state of that peer
            source[one.name, one.incarnation] = one
            source.move_to_end((one.name, one.incarnation), last=False)
        self._hand_out()

    def peer(self, event: "PeerEvent") -> None:
        """Keeps the latest state of each incarnation, of at most 4096."""
        self.peers.pop((event.name, event.incarnation), None)
        self.peers[event.name, event.incarnation] = event
        while len(self.peers) > 4096:
            self.peers.popitem(last=False)

    def runs_elsewhere(self) -> bool:
        """Does another thread run the loop?"""
        try:
            return self.loop.is_running() and asyncio.get_running_loop() is not self.loop
        except RuntimeError:
            return True

    def close(self, why: BaseException) -> None:
        """The engine or the loop goes: those who wait get @why."""
        if self.timer is not None:
            self.timer.cancel()
        if self.loop.is_closed():
            return
        self.loop.remove_reader(self.fd)
        for _, future in self.waiting:
            if not future.done():
                future.set_exception(why)
        self.waiting.clear()
