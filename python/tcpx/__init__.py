# SPDX-License-Identifier: Apache-2.0
"""tcpx: move memory of hosts and GPUs between processes and machines over TCP.

    engine = tcpx.Engine("sender")
    peer = engine.add_peer(their_metadata)
    peer.write(engine.register(tensor), engine.import_region(their_blob), note="done").wait()

Every call that may take long says wait, or is awaited. A region holds the object whose
memory it is. Failures are exceptions by what is lost: CallError, TransferError,
ChannelError, SessionError, SystemCallError, all of them tcpx.Error.
"""
import sys as _sys

try:
    from ._abi import BLOB_MAX, METADATA_MAX, NOTE_MAX, C as _C
except ImportError as _why:
    if _sys.argv[:1] != ["-m"]:
        raise
    _sys.exit(str(_why))  # python -m tcpx
from .engine import Engine, Note, PeerEvent
from .errors import (CallError, ChannelError, Error, ForkedError, SessionError, SystemCallError,
                     TransferError)
from .log import log_lines
from .peer import READ, RECV, SEND, WRITE, Peer
from .region import LEND, LOCAL, REMOTE_READ, REMOTE_WRITE, Pieces, Region, RemoteRegion
from .transfer import Prepared, Transfer

__version__: str = _C.tcpx_version().decode()
__all__ = ["BLOB_MAX", "CallError", "ChannelError", "Engine", "Error", "ForkedError", "LEND",
           "LOCAL", "METADATA_MAX", "NOTE_MAX", "Note", "Peer", "PeerEvent", "Pieces", "Prepared",
           "READ", "RECV", "REMOTE_READ", "REMOTE_WRITE", "Region", "RemoteRegion", "SEND",
           "SessionError", "SystemCallError", "Transfer", "TransferError", "WRITE", "log_lines"]
