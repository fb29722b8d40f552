# SPDX-License-Identifier: Apache-2.0
"""One exception for each group of codes: what a code's owner has lost."""
import ctypes
from typing import Any

from ._abi import C

ECLOSED = -1307


class Error(Exception):
    """A call or a transfer failed. `code` is the negative code, `name` its name."""

    def __init__(self, code: int, what: str, cause: str = "") -> None:
        self.code = code
        self._made_of = code, what, cause
        self.name: str = C.tcpx_strerror_name(code).decode()
        said = cause or C.tcpx_strerror(code).decode()
        super().__init__("%s: %s" % (what, said if self.name in said else
                                     "%s (%s)" % (said, self.name)))

    def __reduce__(self) -> Any:
        return type(self), self._made_of, self.__dict__


class SystemCallError(Error):
    """A system error; `errno` is its number. Nothing else is affected."""

    @property
    def errno(self) -> int:
        """The system's number of this error."""
        return -self.code


class CallError(Error):
    """The call failed; nothing else is affected."""


class TransferError(Error):
    """One transfer is lost."""


class ChannelError(Error):
    """One connection is lost; its transfers go on elsewhere."""


class SessionError(Error):
    """The session is lost, with every transfer on it."""


class ForkedError(RuntimeError):
    """The engine belongs to the parent of this process; open another one here."""


_GROUPS = {1: SystemCallError, 2: CallError, 3: TransferError, 4: ChannelError, 5: SessionError}


def error(code: int, what: str, cause: str = "") -> Error:
    """The exception that a negative code is."""
    return _GROUPS.get(C.tcpx_err_group(code), Error)(code, what, cause)


def check(code: int, what: str) -> None:
    """Raises what a failed call of this thread means; 0 passes."""
    if code:
        text = ctypes.create_string_buffer(1024)
        C.tcpx_last_error(None, text, len(text))
        raise error(code, what, text.value.decode("utf-8", "replace"))
