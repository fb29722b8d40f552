#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads that close what others use, over loopback in one process."""
import copy
import gc
import pickle
import signal
import subprocess
import sys
import threading
import unittest
import unittest.mock
import weakref

from rig import GUARD_S, Pair, pattern
import tcpx

MIB = 1 << 20


def outcome(call):
    """What @call gives, or the exception that it raises."""
    try:
        return call()
    except Exception as why:  # pylint: disable=broad-except
        return why


class Threads(Pair):
    """A thread closes what others use."""

    def others(self, engine, *calls):
        """Threads that are under way in @engine, each in a call; and what becomes of them."""
        ends = []
        threads = [threading.Thread(target=lambda call=call: ends.append(outcome(call)))
                   for call in calls]
        for thread in threads:
            thread.start()
        while not {thread.ident for thread in threads} <= set(engine._calls.inside):
            pass
        return threads, ends

    def joined(self, threads):
        for thread in threads:
            thread.join(GUARD_S)
        self.assertFalse(any(thread.is_alive() for thread in threads))

    def test_an_engine_is_closed_after_the_calls_under_way(self):
        self.peer.wait(GUARD_S)
        got = self.b.add_peer(self.a.metadata()).recv(self.b.register(bytearray(64)))
        threads, ends = self.others(self.b, self.b.wait_note, lambda: self.b.poll(None), got.wait)
        with self.b:
            pass
        self.joined(threads)
        for end in ends:
            self.assertRegex(str(end), "engine has been closed")
            self.assertIs(type(end), ValueError)

    def test_transfers_that_others_wait_for_finish_in_time(self):
        target = bytearray(16 * MIB)
        _region, remote = self.shared(target)
        unsent = self.peer.recv(self.a.register(bytearray(64)))
        moved = self.peer.write(self.a.register(pattern(16 * MIB)), remote)
        thread = threading.Thread(target=lambda: ends.append(outcome(moved.wait)))
        ends = []
        with unittest.mock.patch("tcpx.transfer.SLICE_MS", 1), \
                unittest.mock.patch("tcpx.wait.SLICE_MS", 1):
            thread.start()
            self.a.close(timeout=None)
            self.joined([thread])
        self.assertEqual(ends, [None])
        self.assertEqual(target, pattern(16 * MIB))
        del unsent

    def test_a_transfer_is_closed_while_others_wait_for_it(self):
        room = self.a.register(bytearray(64))
        for _ in range(20):
            got = self.peer.recv(room)
            threads, ends = self.others(self.a, *3 * [lambda held=got: held.wait(GUARD_S)])
            got.close()
            self.joined(threads)
            self.assertEqual({type(end) for end in ends}, {tcpx.TransferError})

    def test_a_peer_is_closed_while_others_wait_for_it(self):
        nobody = self.a.connect("127.0.0.1:1")
        threads, ends = self.others(self.a, lambda: nobody.wait(0.3))
        nobody.close()
        self.joined(threads)
        self.assertEqual(len(ends), 1)

    def test_memory_of_a_region_stays_until_the_engine_is_closed(self):
        class Held(bytearray):
            """A buffer that can be referenced weakly."""
        value = Held(64)
        gone, region = weakref.ref(value), self.a.register(value)
        del value
        self.a._calls.inside.append(0)  # a call under way of some thread
        closer = threading.Thread(target=self.a.close)
        closer.start()
        while not self.a._calls.gone:
            pass
        del region
        gc.collect()
        kept = gone() is not None
        self.a._calls.inside.remove(0)
        self.joined([closer])
        self.assertTrue(kept)
        gc.collect()
        self.assertIsNone(gone())

    def test_the_handler_of_a_signal_closes_what_its_thread_waits_for(self):
        main, before = threading.get_ident(), signal.getsignal(signal.SIGUSR1)

        def hit():
            while main not in self.a._calls.inside:
                pass
            signal.pthread_kill(main, signal.SIGUSR1)
        signal.signal(signal.SIGUSR1, lambda *_: self.a.close())
        thread = threading.Thread(target=hit)
        thread.start()
        self.assertIsInstance(outcome(self.a.wait_note), ValueError)
        self.joined([thread])
        signal.signal(signal.SIGUSR1, before)
        self.assertFalse(self.a._calls.open)

    def test_a_daemon_thread_that_waits_lets_the_process_end(self):
        done = subprocess.run([sys.executable, "-c", """
import threading, tcpx
class Owner:
    def __init__(self):
        self.engine = tcpx.Engine()
    def __del__(self):  # when the modules go
        self.engine.close()
owner = Owner()
threading.Thread(target=owner.engine.wait_note, daemon=True).start()
while not owner.engine._calls.inside:
    pass
"""], timeout=GUARD_S, check=False)
        self.assertEqual(done.returncode, 0)

    def test_many_close_and_use_one_engine(self):
        target = bytearray(4 * MIB)
        region, remote = self.shared(target)
        local = self.a.register(bytearray(4 * MIB))

        def use():
            while not isinstance(outcome(lambda: self.peer.write(local, remote).wait(1)), ValueError):
                pass
        threads, _ends = self.others(self.a, use, use, self.a.wait_note)
        closers = [threading.Thread(target=call) for call in
                   (local.close, self.peer.close, self.a.close, self.a.close, region.close)]
        for thread in closers:
            thread.start()
        self.joined(threads + closers)
        self.assertFalse(self.a._calls.open or self.a._calls.inside)

    def test_threads_that_poll_get_each_end_once(self):
        _region, remote = self.shared(bytearray(64))
        local = self.a.register(bytearray(64))
        posted = [self.peer.write(local, remote) for _ in range(2000)]
        taken = []

        def poll():
            while len(taken) < len(posted):
                taken.extend(self.a.poll(0.01))
        threads = [threading.Thread(target=poll) for _ in range(4)]
        for thread in threads:
            thread.start()
        self.joined(threads)
        self.assertEqual((len(taken), set(taken)), (len(posted), set(posted)))

    def test_a_callback_is_called_when_another_thread_takes_the_end(self):
        _region, remote = self.shared(bytearray(64))
        self.a.poll()
        transfer = self.peer.write(self.a.register(bytearray(64)), remote)
        seen = []

        def meanwhile():
            del self.a._watch
            while not self.a.poll(0.01):
                pass
        self.a._watch = meanwhile
        transfer.add_done_callback(seen.append)
        self.assertEqual((seen, self.a._pending), ([transfer], set()))

    def test_handles_are_not_copied(self):
        region, remote = self.shared(bytearray(64))
        for one in (self.a, self.peer, region, remote, remote[:8],
                    self.peer.write(self.a.register(bytearray(64)), remote)):
            for call in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                    call(one)
        self.assertEqual(self.b.counters()["regions"], 1)


if __name__ == "__main__":
    unittest.main()
