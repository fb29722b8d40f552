# SPDX-License-Identifier: Apache-2.0
"""Log lines of the library, without Python on its threads.

The library appends whole lines to a file in memory, which never makes it wait. Python
reads them when it likes and gives the pages back.
"""
import ctypes
import logging
import os
from typing import List

_PUNCH_HOLE, _KEEP_SIZE = 2, 1
_LEVELS = {"ERROR": logging.ERROR, "WARN": logging.WARNING, "INFO": logging.INFO}


class _Lines:
    def __init__(self) -> None:
        self.fd = -1
        self.read = 0
        self.part = b""
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]

    def path(self) -> str:
        """What TCPX_DEBUG_FILE is to name."""
        if self.fd < 0:
            self.fd = os.memfd_create("tcpx-log")
        return "/proc/self/fd/%d" % self.fd

    def take(self) -> List[str]:
        """Whole lines since the last call."""
        if self.fd < 0:
            return []
        size = os.fstat(self.fd).st_size - self.read
        if size <= 0:
            return []
        data = os.pread(self.fd, size, self.read)
        self.read += len(data)
        self.libc.fallocate(self.fd, _PUNCH_HOLE | _KEEP_SIZE, 0, self.read)
        *lines, self.part = (self.part + data).split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]


_lines = _Lines()
path = _lines.path


def log_lines() -> List[str]:
    """The lines that the library has logged since the last call, of all engines of this
    process that were opened with log=LEVEL."""
    return _lines.take()


def pass_on() -> None:
    """Gives the lines to the logger "tcpx"."""
    for line in _lines.take():
        words = line.split(None, 4)
        level = _LEVELS.get(words[2], logging.DEBUG) if len(words) > 2 else logging.INFO
        logging.getLogger("tcpx").log(level, "%s", line)
