# SPDX-License-Identifier: Apache-2.0
"""Handles of the library, and the calls under way that use them."""
import ctypes
import sys
import time
from threading import get_ident
from typing import Any, Callable, List, Optional, Tuple, Type, TypeVar

CLOSED = "the engine has been closed"
H = TypeVar("H", bound="Handle")


class Calls:
    """The calls under way of an engine, by their threads. It is closed once none is left.

    A call counts itself before it looks at `gone`; who closes sets `gone` before it looks at
    `inside`. Lists are appended to, popped and removed from by one thread at a time.
    """

    def __init__(self) -> None:
        self.inside: List[int] = []
        self.gone: Optional[Tuple[Type[Exception], str]] = None
        self.end: Callable[[], Any] = int
        self.code = 0
        self.open = [True]
        self.kept: List[Any] = []  # owners of memory that is in use until the end

    def shut(self, end: Callable[[], Any]) -> None:
        """Refuses calls from now on; @end closes the engine."""
        self.end = end
        self.gone = self.gone or (ValueError, CLOSED)

    def settle(self) -> None:
        """After shut(): waits for the calls of other threads, and for the end. In the midst of a
        call of this very thread, as a signal's handler may be, it leaves the end to that call; where
        daemon threads will never return, to the process's end."""
        while get_ident() not in self.inside and (self.inside or self.open):
            self.leave()
            if self.inside and sys.is_finalizing():
                return
            if self.inside:
                time.sleep(0.001)

    def leave(self) -> None:
        """A call has returned after shut(): the last one closes, once."""
        if self.open and not self.inside:
            self.inside.append(get_ident())
            try:
                if self.open.pop():
                    self.code = self.end() or 0
                    self.kept.clear()
            except IndexError:
                pass  # another thread does it
            finally:
                self.inside.remove(get_ident())


def counted(call: Any) -> Any:
    """@call of the library, which is under way in the engine of its first argument meanwhile."""
    def counting(handle: "Handle", *more: Any) -> Any:
        calls, me = handle.calls, get_ident()
        inside = calls.inside
        try:
            inside.append(me)
            if calls.gone:
                raise calls.gone[0](calls.gone[1])
            return call(handle, *more)
        finally:
            inside.remove(me)
            if calls.gone:
                calls.leave()
    return counting


class Handle(ctypes.c_void_p):
    """A handle, and the calls of its engine."""

    __slots__ = ("calls",)
    calls: Calls

    @classmethod
    def room(cls: Type[H], calls: Calls) -> H:
        """For the library to fill."""
        self = cls()
        self.calls = calls
        return self


class Owned(Handle):
    """Calls under way hold it, too: it is given back by `free` after the last one."""

    __slots__ = ()
    free: Any

    def __del__(self) -> None:
        if self and not self.calls.gone:
            try:
                self.free()
            except ValueError:
                pass  # its engine was closed meanwhile, and freed it


class Unique:
    """An object that owns something of the library."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a tcpx.%s cannot be copied or pickled: it is one endpoint's, in this "
                        "process" % type(self).__name__)
