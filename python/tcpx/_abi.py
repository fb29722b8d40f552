# SPDX-License-Identifier: Apache-2.0
"""The C library: where it is, its structs and the signatures of its calls.

tests/python/abi_test.py compares all of it with the public header and the record of the
binary interface.
"""
import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, c_char, c_char_p, c_int, c_size_t, c_uint, c_uint16,
                    c_uint32, c_uint64, c_void_p)
from typing import Any, Dict

from .handle import counted

NAME = "libtcpx-p2p.so.0"
NOTE_MAX = 8192
BLOB_MAX = 64
METADATA_MAX = 4096
EAGAIN = -11


class Struct(ctypes.Structure):
    """A struct of the header; as_dict() gives its members as Python values."""

    def as_dict(self) -> Dict[str, Any]:
        """Members by name; text without its NULs, struct_size left out."""
        out = {}
        for name, *_ in self._fields_:
            value = getattr(self, name)
            if name != "struct_size":
                out[name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        return out


class EngineOpts(Struct):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("listen", c_char_p),
                ("settings", POINTER(c_char_p)),
                ("log", CFUNCTYPE(None, c_void_p, c_int, c_char_p)),  # never Python's: see log.py
                ("log_arg", c_void_p), ("peer_events", c_int)]


class PeerInfo(Struct):
    _fields_ = [("struct_size", c_size_t), ("name", c_char * 64), ("incarnation", c_uint64),
                ("status", c_int), ("channels_tx", c_uint32), ("channels_rx", c_uint32),
                ("channels_wanted", c_uint32), ("chunk_bytes", c_uint32),
                ("window_slots", c_uint32), ("setup_ns", c_uint64), ("provider", c_char * 16),
                ("cause", c_char * 192), ("resting_tx", c_uint32), ("resting_rx", c_uint32)]


class Desc(Struct):
    _fields_ = [("region", c_uint64), ("offset", c_uint64), ("len", c_uint64)]


class Event(Struct):
    _fields_ = [("kind", c_int), ("status", c_int), ("user", c_void_p), ("xfer", c_void_p),
                ("bytes", c_uint64), ("incarnation", c_uint64), ("peer", c_char * 64)]


class XferInfo(Struct):
    _fields_ = [("struct_size", c_size_t), ("status", c_int), ("id", c_uint64),
                ("bytes_total", c_uint64), ("bytes_done", c_uint64), ("chunk_bytes", c_uint64),
                ("post_ns", c_uint64), ("done_ns", c_uint64), ("cause", c_char * 192),
                ("stuck_chunk", c_uint64), ("stuck_channel", c_int), ("stuck_nic", c_char * 32),
                ("stage", c_char * 48)]


class Counters(Struct):
    _fields_ = [("struct_size", c_size_t)] + [(name, c_uint64) for name in (
        "bytes_tx", "bytes_rx", "chunks_tx", "chunks_rx", "xfers_posted", "xfers_done",
        "xfers_failed", "notes_tx", "notes_rx", "notes_dropped", "ctrl_frames_tx",
        "ctrl_frames_rx", "ctrl_resumes", "channels_lost", "chunks_resent", "stalls", "refused",
        "queue_ns", "wire_ns", "ack_ns", "unpack_ns", "lease_borrows")] + [
            ("sessions", c_uint32), ("regions", c_uint32), ("memory_bytes", c_uint64),
            ("channels_suspected", c_uint64), ("channels_healed", c_uint64),
            ("chunks_corrupt", c_uint64), ("frames_corrupt", c_uint64)]


class ChannelInfo(Struct):
    _fields_ = [("session", c_uint64), ("peer", c_char * 64), ("nic", c_char * 32),
                ("peer_nic", c_char * 32), ("index", c_uint32), ("generation", c_uint32),
                ("sending", c_int), ("up", c_int), ("bytes", c_uint64), ("chunks", c_uint64),
                ("stalls", c_uint64), ("in_flight", c_uint32), ("in_flight_max", c_uint32),
                ("in_flight_sum", c_uint64), ("rate_Bps", c_uint64), ("retransmits", c_uint64),
                ("rtt_us", c_uint64), ("loop", c_uint32), ("tx_mode", c_char * 16),
                ("lent_bytes", c_uint64), ("incoming_cpu", c_int), ("napi_id", c_uint32),
                ("congestion", c_char * 16), ("rests", c_int)]


class ThreadInfo(Struct):
    _fields_ = [("name", c_char * 16), ("tid", c_int), ("requested", c_char * 64),
                ("granted", c_char * 64)]


class NicInfo(Struct):
    _fields_ = [("name", c_char * 32), ("addr", c_char * 64), ("numa", c_int), ("gbps", c_uint32),
                ("mbps", c_uint32)]


# By their names in the header.
STRUCTS = {"tcpx_engine_opts": EngineOpts, "tcpx_peer_info": PeerInfo, "tcpx_desc": Desc,
           "tcpx_event": Event, "tcpx_xfer_info": XferInfo, "tcpx_counters": Counters,
           "tcpx_channel_info": ChannelInfo, "tcpx_thread_info": ThreadInfo,
           "tcpx_nic_info": NicInfo}

_handle, _out, _list = c_void_p, c_void_p, c_void_p  # byref() of a pointer goes as one
_size_out, _id_out = POINTER(c_size_t), POINTER(c_uint64)
_post = (c_int, _handle, _list, c_size_t, _list, c_size_t, c_char_p, c_size_t, _out)
_tagged = (c_int, _handle, _list, c_size_t, c_uint64, _out)
_table = (c_int, _handle, c_void_p, c_size_t, _size_out)

# Result, then parameters. Bytes go in as c_char_p with their length beside them.
CALLS = {
    "tcpx_version": (c_char_p,),
    "tcpx_strerror_name": (c_char_p, c_int),
    "tcpx_strerror": (c_char_p, c_int),
    "tcpx_err_group": (c_int, c_int),
    "tcpx_open": (c_int, POINTER(EngineOpts), _out),
    "tcpx_close": (None, _handle),
    "tcpx_close_wait": (c_int, _handle, c_int),
    "tcpx_metadata": (c_int, _handle, c_void_p, _size_out),
    "tcpx_port": (c_uint16, _handle),
    "tcpx_event_fd": (c_int, _handle),
    "tcpx_last_error": (None, _handle, c_char_p, c_size_t),
    "tcpx_mem_register": (c_int, _handle, c_void_p, c_size_t, c_uint, _id_out),
    "tcpx_mem_deregister": (c_int, _handle, c_uint64),
    "tcpx_mem_export": (c_int, _handle, c_uint64, c_void_p, _size_out),
    "tcpx_mem_import": (c_int, _handle, c_char_p, c_size_t, _id_out),
    "tcpx_mem_query": (c_int, _handle, c_uint64, _id_out, _id_out),
    "tcpx_mem_place": (c_int, _handle, c_uint64, POINTER(c_int)),
    "tcpx_peer_add": (c_int, _handle, c_char_p, c_size_t, _out),
    "tcpx_peer_connect": (c_int, _handle, c_char_p, _out),
    "tcpx_peer_find": (c_int, _handle, c_char_p, _out),
    "tcpx_peer_wait": (c_int, _handle, c_int),
    "tcpx_peer_free": (None, _handle),
    "tcpx_peer_query": (c_int, _handle, POINTER(PeerInfo)),
    "tcpx_write": _post,
    "tcpx_read": _post,
    "tcpx_send": _tagged,
    "tcpx_recv": _tagged,
    "tcpx_lane_listen": (c_int, _handle, c_char_p, _out),
    "tcpx_lane_open": (c_int, _handle, c_char_p, _out),
    "tcpx_lane_ready": (c_int, _handle),
    "tcpx_lane_peer": (c_int, _handle, _out),
    "tcpx_lane_post": (c_int, _handle, c_uint64, c_uint64, c_uint64, _out),
    "tcpx_lane_weight": (c_int, _handle, c_uint32),
    "tcpx_lane_label": (c_int, _handle, c_char_p),
    "tcpx_lane_close": (None, _handle),
    "tcpx_list_prepare": (c_int, _handle, _list, c_size_t, _out),
    "tcpx_list_free": (None, _handle),
    "tcpx_xfer_prepare": (c_int, _handle, c_int, _handle, _handle, _out),
    "tcpx_xfer_post": (c_int, _handle, c_char_p, c_size_t),
    "tcpx_xfer_post_after": (c_int, _handle, c_void_p, c_char_p, c_size_t),
    "tcpx_xfer_stream_wait": (c_int, _handle, c_void_p),
    "tcpx_test": (c_int, _handle),
    "tcpx_wait": (c_int, _handle, c_int),
    "tcpx_poll": (c_int, _handle),
    "tcpx_poll_done": (None, _handle),
    "tcpx_cancel": (None, _handle),
    "tcpx_xfer_free": (None, _handle),
    "tcpx_xfer_watch": (None, _handle, c_void_p),
    "tcpx_event_get": _table,
    "tcpx_event_wait": (c_int, _handle, c_int, c_void_p, c_size_t, _size_out),
    "tcpx_xfer_query": (c_int, _handle, POINTER(XferInfo)),
    "tcpx_notify": (c_int, _handle, c_char_p, c_size_t),
    "tcpx_note_get": (c_int, _handle, _out),
    "tcpx_note_wait": (c_int, _handle, c_int, _out),
    "tcpx_note_data": (c_void_p, _handle, _size_out),
    "tcpx_note_sender": (c_char_p, _handle),
    "tcpx_note_peer": (c_int, _handle, _handle, _out),
    "tcpx_note_free": (None, _handle),
    "tcpx_query": (c_int, _handle, POINTER(Counters)),
    "tcpx_query_channels": _table,
    "tcpx_query_threads": _table,
    "tcpx_query_nics": _table,
}


# They are not of an engine, or may outlive it, or open and close it; all others are counted.
FREE = ("tcpx_version", "tcpx_strerror_name", "tcpx_strerror", "tcpx_err_group", "tcpx_open",
        "tcpx_close", "tcpx_close_wait", "tcpx_last_error", "tcpx_note_data", "tcpx_note_sender",
        "tcpx_note_free")
# They read memory of their caller and return: Python's lock is kept.
SHORT = ("tcpx_note_data", "tcpx_note_sender", "tcpx_note_peer", "tcpx_note_free", "tcpx_xfer_watch")


def _load() -> ctypes.CDLL:
    """The file that PYTHON_TCPX_LIBRARY names; that of the wheel; the machine's."""
    named = os.environ.get("PYTHON_TCPX_LIBRARY")
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", NAME)
    path = named or (own if os.path.exists(own) else NAME)
    try:
        library = ctypes.CDLL(path)
        short = ctypes.PyDLL(path)
        for name, (result, *arguments) in CALLS.items():
            call = getattr(short if name in SHORT else library, name)
            call.restype, call.argtypes = result, arguments
            setattr(library, name, call if name in FREE else counted(call))
    except (OSError, AttributeError) as why:
        raise ImportError("tcpx: the C library %s cannot be used: %s. Install libtcpx-p2p, or name "
                          "its file in PYTHON_TCPX_LIBRARY" % (path, why)) from why
    return library


C = _load()
