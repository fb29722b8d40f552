#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transfers, notes, errors, forks and log lines, over loopback in one process."""
import gc
import os
import select
import threading
import time
import unittest
import warnings
import weakref

from rig import GUARD_S, Pair, pattern
from tcpx import wait
import tcpx

MIB = 1 << 20


class Held(bytearray):
    """A buffer that can be referenced weakly."""


class Waits(unittest.TestCase):
    def test_a_long_wait_is_cut_so_that_handlers_of_signals_run(self):
        """Python runs a handler between two calls, never within one."""
        for timeout in (None, 3600):
            asked = []

            def call(_handle, ms):
                asked.append(ms)
                return 0 if len(asked) == 5 else wait.EAGAIN
            self.assertEqual(wait.until(call, 0, timeout, "test"), 0)
            self.assertEqual(len(asked), 5)
            self.assertLessEqual(max(asked), 500)

    def test_a_wait_ends_with_its_time(self):
        asked = []

        def call(_handle, ms):
            asked.append(ms)
            return wait.EAGAIN
        with self.assertRaisesRegex(TimeoutError, "test: not within 0 seconds"):
            wait.until(call, 0, 0, "test")
        self.assertEqual(asked, [0])


class Transfers(Pair):
    def test_write_and_read_back_with_notes(self):
        source, target, back = pattern(3 * MIB), bytearray(3 * MIB), bytearray(3 * MIB)
        _region, remote = self.shared(target)
        written = self.peer.write(self.a.register(source), remote, note="written")
        written.wait(GUARD_S)
        self.assertEqual(written.nbytes, 3 * MIB)
        self.assertEqual(self.b.wait_note(GUARD_S), ("a", b"written"))
        self.assertEqual(target, source)
        self.peer.read(self.a.register(back), remote, note=b"\0read\0").wait(GUARD_S)
        self.assertEqual(self.b.wait_note(GUARD_S).data, b"\0read\0")
        self.assertEqual(back, source)

    def test_scattered_lists_of_any_cut(self):
        source, target = pattern(MIB), bytearray(MIB)
        _region, remote = self.shared(target)
        local = self.a.register(source)
        pages = list(range(255, -1, -1))
        halves = [remote[:MIB // 2], remote[MIB // 2:]]
        self.peer.write(local.pages(pages, 4096), halves).wait(GUARD_S)
        self.assertEqual(target, b"".join(source[p * 4096:][:4096] for p in pages))

    def test_send_and_receive_by_tag(self):
        there = self.b.add_peer(self.a.metadata())
        first, second = bytearray(1000), bytearray(2000)
        got = there.recv(self.b.register(first), tag=7), there.recv(self.b.register(second), tag=8)
        data = self.a.register(pattern(1500))
        sent = self.peer.send(data, tag=8), self.peer.send(data[:1000], tag=7)
        for one in sent + got:
            one.wait(GUARD_S)
        self.assertEqual([one.nbytes for one in sent + got], [1500, 1000, 1000, 1500])
        self.assertEqual((first, second[:1500]), (pattern(1500)[:1000], pattern(1500)))

    def test_a_receive_says_how_much_came(self):
        there = self.b.add_peer(self.a.metadata())
        room = bytearray(2000)
        got = there.recv(self.b.register(room))
        self.peer.send(self.a.register(pattern(1500))).wait(GUARD_S)
        got.wait(GUARD_S)
        self.assertEqual(got.nbytes, 1500)
        self.assertEqual(room[:1500], pattern(1500))

    def test_a_prepared_transfer_is_posted_again(self):
        source, target = bytearray(pattern(8192)), bytearray(8192)
        _region, remote = self.shared(target)
        transfer = self.peer.prepare(tcpx.WRITE, self.a.register(source), remote)
        for turn in range(20):
            source[:] = pattern(8192, turn)
            transfer.post(note=str(turn)).wait(GUARD_S)
            self.assertEqual(target, source)
            self.assertEqual(self.b.wait_note(GUARD_S).data, str(turn).encode())

    def test_a_transfer_that_is_posted_again_counts_its_bytes_anew(self):
        region, remote = self.shared(bytearray(8192))
        transfer = self.peer.prepare(tcpx.WRITE, self.a.register(pattern(8192)), remote)
        transfer.post().wait(GUARD_S)
        self.assertEqual(transfer.nbytes, 8192)
        region.close()
        with self.assertRaises(tcpx.Error):
            transfer.post().wait(GUARD_S)
        self.assertEqual(transfer.nbytes, 0)

    def test_a_post_that_fails_leaves_the_end_of_the_one_before(self):
        _region, remote = self.shared(bytearray(64))
        transfer = self.peer.prepare(tcpx.WRITE, self.a.register(bytearray(64)), remote)
        transfer.post().wait(GUARD_S)
        with self.assertRaisesRegex(tcpx.SystemCallError, "no GPU memory"):
            transfer.post(after=1)
        self.a.close()  # no call can tell any more how it ended
        self.assertTrue(transfer.done())
        self.assertIsNone(transfer.exception())

    def test_what_has_ended_holds_no_memory(self):
        """Neither its callback's transfer nor the buffer outlives the caller's references."""
        target = bytearray(4096)
        _region, remote = self.shared(target)

        def write():
            source = Held(pattern(4096))
            local = self.a.register(source)
            transfer = self.peer.write(local, remote)
            called = []
            transfer.add_done_callback(called.append)
            while not called:
                self.assertTrue(select.select([self.a], [], [], GUARD_S)[0])
                self.a.poll()
            return weakref.ref(transfer), weakref.ref(source)
        gone = write()
        gc.collect()
        self.assertEqual([ref() for ref in gone], [None, None])
        self.assertEqual(target, pattern(4096))

    def test_poll_gives_what_has_ended(self):
        _region, remote = self.shared(bytearray(MIB))
        local = self.a.register(pattern(MIB))
        called = []
        posted = {self.peer.write(local[:n], remote[:n]) for n in range(1, 600)}
        for transfer in posted:
            transfer.add_done_callback(called.append)
        ended = set()
        while ended != posted:
            self.assertTrue(select.select([self.a], [], [], GUARD_S)[0])
            ended.update(self.a.poll())
        self.assertEqual(set(called), posted)
        self.assertEqual(self.a.poll(), [])

    def test_notes_alone(self):
        for text in (b"", b"x", b"\xff" * tcpx.NOTE_MAX):
            self.peer.notify(text)
            self.assertEqual(self.b.wait_note(GUARD_S).data, text)
        self.assertIsNone(self.b.take_note())
        with self.assertRaises(ValueError):
            self.peer.notify(b"x" * (tcpx.NOTE_MAX + 1))
        self.peer.notify(memoryview(b"view"))
        self.assertEqual(self.b.wait_note(GUARD_S).data, b"view")

    def test_a_note_is_of_the_peer_whose_session_brought_it(self):
        there = self.b.add_peer(self.a.metadata())
        self.peer.notify(b"mine")
        note = self.b.wait_note(GUARD_S)
        self.assertEqual(note, ("a", b"mine"))
        self.assertEqual(note.peer, there)
        with tcpx.Engine("a", **self.options) as another:  # of the same name
            to_b = another.add_peer(self.b.metadata())
            to_b.notify(b"not mine")
            note = self.b.wait_note(GUARD_S)
            self.assertEqual(note, ("a", b"not mine"))
            self.assertNotEqual(note.peer, there)

    def test_cancel(self):
        _region, remote = self.shared(bytearray(64))
        there = self.b.add_peer(self.a.metadata())
        got = there.recv(self.b.register(bytearray(64)))
        self.assertFalse(got.done())
        with self.assertRaises(TimeoutError):
            got.wait(0)
        got.cancel()
        with self.assertRaises(tcpx.TransferError) as raised:
            got.wait(GUARD_S)
        self.assertEqual(raised.exception.name, "TCPX_ECANCELED")
        self.assertIsInstance(got.exception(), tcpx.TransferError)

    def test_a_dropped_transfer_is_cancelled_with_a_warning(self):
        there = self.b.add_peer(self.a.metadata())
        got = there.recv(self.b.register(bytearray(64)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del got
            gc.collect()
        self.assertEqual([one.category for one in caught], [ResourceWarning])

    def test_threads_wait_side_by_side(self):
        target = bytearray(8 * 65536)
        _region, remote = self.shared(target)
        source = pattern(8 * 65536)
        local = self.a.register(source)

        def work(k):
            for i in range(k * 65536, (k + 1) * 65536, 4096):
                self.peer.write(local[i:i + 4096], remote[i:i + 4096]).wait(GUARD_S)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(target, source)

    def test_figures(self):
        self.peer.wait(GUARD_S)
        self.assertEqual((self.peer.name, self.peer.info()["status"]), ("b", 0))
        self.assertEqual(self.a.nics()[0]["addr"], "127.0.0.1")
        self.assertTrue(self.a.threads() and self.a.channels())
        self.assertEqual(self.b.find_peer("a").name, "a")
        self.assertIsNone(self.b.find_peer("nobody"))
        with self.a.connect("127.0.0.1:%d" % self.b.port) as again:
            again.wait(GUARD_S)


class Failures(Pair):
    def test_the_error_says_what_and_why(self):
        _region, remote = self.shared(bytearray(64))
        local = self.a.register(bytearray(64))
        with self.assertRaisesRegex(tcpx.SystemCallError, "write: local list has 10 bytes.*EINVAL"):
            self.peer.write(local[:10], remote)
        with self.assertRaisesRegex(tcpx.TransferError, "outside|offset 60.*TCPX_ERANGE"):
            self.peer.write(local, remote.piece(60, 64))
        with self.assertRaisesRegex(ValueError, "another engine"):
            self.peer.write(self.b.register(bytearray(64)), remote)
        with self.assertRaisesRegex(tcpx.CallError, "TCPX_CHUNK.*TCPX_ECONFIG"):
            tcpx.Engine(settings={"TCPX_CHUNK": "much"})

    def test_a_wrong_value_is_named(self):
        _region, remote = self.shared(bytearray(64))
        local = self.a.register(bytearray(64))
        for call, kind, words in (
                (lambda: self.peer.notify(5), TypeError, "a note is bytes, not int"),
                (lambda: self.peer.notify([1]), TypeError, "a note is bytes, not list"),
                (lambda: self.peer.write(local, remote, note=5), TypeError, "a note is bytes"),
                (lambda: self.peer.write(remote, local), TypeError, "RemoteRegion where a Region"),
                (lambda: self.peer.write(local, local), TypeError, "Region where a RemoteRegion"),
                (lambda: self.peer.recv([local, remote]), TypeError, "RemoteRegion where a Region"),
                (lambda: local[3], TypeError, r"cut by region\[a:b\], not by int"),
                (lambda: self.a.add_peer("x"), TypeError, "metadata is bytes, not str"),
                (lambda: self.a.import_region(5), TypeError, "blob is bytes, not int"),
                (lambda: self.a.connect(5), TypeError, "HOST:PORT is text, not int"),
                (lambda: self.a.connect("127.0.0.1:1\0x"), ValueError, "HOST:PORT has a NUL"),
                (lambda: self.a.find_peer(b"b"), TypeError, "a name is text, not bytes"),
                (lambda: self.a.find_peer("b\0"), ValueError, "a name has a NUL"),
                (lambda: tcpx.Engine("a\0"), ValueError, "a name has a NUL"),
                (lambda: tcpx.Engine(listen=5), TypeError, "listen is text, not int"),
                (lambda: tcpx.Engine(settings={"A": "\0"}), ValueError, "a setting has a NUL")):
            with self.assertRaisesRegex(kind, words):
                call()
        self.assertEqual(self.a.add_peer(bytearray(self.b.metadata())), self.peer)

    def test_the_peer_refuses_by_right(self):
        _region, remote = self.shared(bytearray(64), tcpx.REMOTE_READ)
        transfer = self.peer.write(self.a.register(bytearray(64)), remote)
        with self.assertRaises(tcpx.TransferError) as raised:
            transfer.wait(GUARD_S)
        self.assertEqual(raised.exception.name, "TCPX_EKEY")

    def test_a_peer_that_closes_is_a_lost_session(self):
        got = self.peer.recv(self.a.register(bytearray(64)))
        self.peer.wait(GUARD_S)
        self.b.close()
        with self.assertRaises(tcpx.SessionError):
            got.wait(GUARD_S)

    def test_a_peer_that_is_not_there_is_a_lost_session_with_its_cause(self):
        nobody = self.a.connect("127.0.0.1:%d" % self.b.port)
        nobody.wait(GUARD_S)
        got = nobody.recv(self.a.register(bytearray(64)))
        self.b.close()
        with self.assertRaises(tcpx.SessionError):
            got.wait(GUARD_S)
        with self.assertRaises(tcpx.SessionError) as raised:
            nobody.wait(GUARD_S)
        self.assertGreater(len(str(raised.exception)), 20)

    def test_after_close_every_call_says_so(self):
        _region, remote = self.shared(bytearray(64))
        local = self.a.register(bytearray(64))
        transfer = self.peer.write(local, remote)
        transfer.wait(GUARD_S)
        self.a.close()
        for call in (lambda: self.peer.write(local, remote), self.a.counters, self.peer.info,
                     transfer.info, lambda: self.a.register(bytearray(1)), self.a.take_note):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        self.a.close()

    def test_close_lets_transfers_finish(self):
        target = bytearray(8 * MIB)
        _region, remote = self.shared(target)
        transfer = self.peer.write(self.a.register(pattern(8 * MIB)), remote)
        self.a.close(timeout=None)
        self.assertEqual(target, pattern(8 * MIB))
        del transfer

    def test_a_forked_child_is_refused_and_the_parent_goes_on(self):
        target = bytearray(64)
        _region, remote = self.shared(target)
        local = self.a.register(pattern(64))
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            said = "nothing"
            try:
                self.peer.write(local, remote)
            except tcpx.ForkedError as why:
                said = str(why)
            local.close()
            self.a.close()
            os.write(into, said.encode())
            os._exit(0)
        os.close(into)
        with os.fdopen(out, "rb") as pipe:
            self.assertRegex(pipe.read(), b"opened by process %d, before the fork" % os.getpid())
        os.waitpid(child, 0)
        self.peer.write(local, remote).wait(GUARD_S)
        self.assertEqual(target, pattern(64))


class Lines(Pair):
    options = {"log": "INFO"}

    def test_log_lines_come_by_a_queue(self):
        lines = tcpx.log_lines()
        self.assertTrue(any("engine a" in line for line in lines), lines)
        self.assertTrue(all(" TCPX " in line for line in lines), lines)
        with self.assertRaises(tcpx.Error):
            self.peer.recv(self.a.register(bytearray(8)).piece(8, 8))
        later, end = [], time.monotonic() + GUARD_S
        while not any("TCPX_ERANGE" in line for line in later) and time.monotonic() < end:
            later += tcpx.log_lines()  # a thread of the log's brings them
        self.assertTrue(any("TCPX_ERANGE" in line for line in later))
        self.assertFalse(set(lines) & set(later))  # none comes twice


if __name__ == "__main__":
    unittest.main()
