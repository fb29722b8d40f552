# SPDX-License-Identifier: Apache-2.0
"""Waiting in slices, so that a signal's handler runs meanwhile."""
import time
from typing import Any, Callable, Optional

from ._abi import EAGAIN

SLICE_MS = 200


def until(call: Callable[..., int], handle: Any, timeout: Optional[float], what: str,
          *more: Any) -> int:
    """What call(handle, ms, *more) returns that is not EAGAIN. TimeoutError after @timeout
    seconds."""
    if timeout is None:
        while True:
            code = call(handle, SLICE_MS, *more)
            if code != EAGAIN:
                return code
    end = time.monotonic() + timeout
    while True:
        left = end - time.monotonic()
        code = call(handle, min(SLICE_MS, max(0, int(left * 1000 + 0.999))), *more)
        if code != EAGAIN:
            return code
        if left <= 0:
            raise TimeoutError("%s: not within %g seconds" % (what, timeout))
