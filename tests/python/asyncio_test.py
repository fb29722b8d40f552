#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transfers, notes and peer events by asyncio: one reader, no thread, no spinning."""
import asyncio
import logging
import threading
import unittest

from rig import GUARD_S, Pair, pattern
import tcpx

MANY = 10000


def run(main):
    return asyncio.run(asyncio.wait_for(main, GUARD_S))


class Loop(Pair):
    options = {"peer_events": True}

    def test_ten_thousand_writes_in_flight(self):
        """Data from an application that the loop reads, without a thread of Python's."""
        size = 64
        source, target = pattern(MANY * size), bytearray(MANY * size)
        _region, remote = self.shared(target)
        local = self.a.register(source)
        threads = threading.active_count()

        async def main():
            posted = [self.peer.write(local.piece(i * size, size), remote.piece(i * size, size),
                                      note=b"%d" % i) for i in range(MANY)]
            await asyncio.gather(*posted)
            self.assertEqual(sum(one.nbytes for one in posted), MANY * size)
            self.assertEqual(threading.active_count(), threads)
            notes = [await self.b.next_note() for _ in range(MANY)]
            self.assertEqual(sorted(int(note.data) for note in notes), list(range(MANY)))
            readers = self.a.attach(), self.b.attach()
            # Each wake-up takes something, but where the last was taken early.
            for reader in readers:
                self.assertLessEqual(reader.wakeups, 2 * MANY)
            # Idle: the loop turns, and no reader is woken any more.
            for _ in range(20):
                await asyncio.sleep(0)
            before = [reader.wakeups for reader in readers]
            for _ in range(500):
                await asyncio.sleep(0)
            self.assertEqual([reader.wakeups for reader in readers], before)
        run(main())
        self.assertEqual(target, source)

    def test_while_nothing_ends_the_reader_sleeps(self):
        """Ten thousand in flight, the loop turns, and there is no wake-up at all."""
        room = self.a.register(bytearray(64))

        async def main():
            await self.a.next_peer_event()  # the last thing that happens by itself
            waiting = [self.peer.recv(room, tag=i) for i in range(MANY)]
            ends = asyncio.gather(*waiting, return_exceptions=True)
            for _ in range(20):
                await asyncio.sleep(0)
            reader = self.a.attach()
            before = reader.wakeups
            for _ in range(500):
                await asyncio.sleep(0)
            self.assertEqual(reader.wakeups, before)
            self.assertFalse(any(one.done() for one in waiting[:10]))
            self.a.close()
            kinds = {type(end) for end in await ends}
            self.assertEqual(kinds, {tcpx.SessionError})
        run(main())

    def test_what_ends_unawaited_does_not_keep_the_reader_busy(self):
        _region, remote = self.shared(bytearray(4096))
        local = self.a.register(bytearray(4096))
        early = self.peer.write(local, remote)  # before there is a reader

        async def main():
            reader = self.a.attach()
            await self.a.next_peer_event()
            late = self.peer.write(local, remote)
            await late
            await early
            kept = self.peer.write(local, remote)
            await self.peer.write(local, remote)
            while not kept.done():
                await asyncio.sleep(0)
            for _ in range(20):
                await asyncio.sleep(0)
            before = reader.wakeups
            for _ in range(500):
                await asyncio.sleep(0)
            self.assertEqual(reader.wakeups, before)
        run(main())

    def test_failures_and_cancelling(self):
        async def main():
            got = self.peer.recv(self.a.register(bytearray(64)))
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.ensure_future(self.wait(got)), 0.01)
            with self.assertRaises(tcpx.TransferError):
                await got
            shut = self.peer.recv(self.a.register(bytearray(64)))
            task = asyncio.ensure_future(self.wait(shut))
            await asyncio.sleep(0)
            self.a.close()
            with self.assertRaises(tcpx.SessionError):
                await task
        run(main())

    @staticmethod
    async def wait(transfer):
        return await transfer

    def test_a_full_queue_of_notes_keeps_them_all_and_completions_go_on(self):
        self.b.note_limit = 10
        _region, remote = self.shared(bytearray(64))
        local = self.a.register(bytearray(64))
        there = self.b.add_peer(self.a.metadata())
        mine = self.a.register(bytearray(64), tcpx.REMOTE_WRITE)
        back = self.b.import_region(mine.export())

        async def main():
            reader = self.b.attach()
            for i in range(100):
                await self.peer.write(local, remote, note=b"%d" % i)
            await there.write(self.b.register(bytearray(64)), back)
            self.assertLessEqual(len(reader.notes), 10)
            notes = [await self.b.next_note() for _ in range(100)]
            self.assertEqual([int(note.data) for note in notes], list(range(100)))
        run(main())

    def test_peers_that_come_and_go(self):
        async def main():
            up = await self.b.next_peer_event()
            self.assertEqual((up.name, up.up, up.status), ("a", True, 0))
            waiting = asyncio.ensure_future(self.b.next_peer_event())
            self.a.close()
            down = await waiting
            self.assertEqual((down.name, down.up, down.incarnation), ("a", False, up.incarnation))
        self.peer.wait(GUARD_S)
        run(main())

    def test_what_a_cancelled_wait_was_given_goes_to_the_next(self):
        event = tcpx.PeerEvent("p", 1, True, 0)

        async def cancelled(wait):
            self.b._reader._hand_out()
            wait.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await wait

        async def main():
            reader = self.b.attach()
            while not reader.peers:
                await asyncio.sleep(0)
            reader.peers.clear()
            for call in (self.b.next_note, self.b.next_peer_event):
                first, second = [asyncio.ensure_future(call()) for _ in range(2)]
                await asyncio.sleep(0)
                if call == self.b.next_note:
                    reader.notes.append(event)
                else:
                    reader.peer(event)
                await cancelled(first)
                self.assertIs(await second, event)
            waits = asyncio.ensure_future(self.b.next_peer_event())
            await asyncio.sleep(0)
            reader.peer(event)
            reader._hand_out()
            reader.peer(event._replace(up=False))  # in the same turn: the latest state counts
            await cancelled(waits)
            self.assertFalse((await self.b.next_peer_event()).up)
            waits = asyncio.ensure_future(self.b.next_note())
            await asyncio.sleep(0)
            self.b.close()
            waits.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waits
        self.peer.wait(GUARD_S)
        run(main())

    def test_a_callback_closes_the_engine(self):
        _region, remote = self.shared(bytearray(64))
        local, failures = self.a.register(bytearray(64)), []

        async def main():
            asyncio.get_running_loop().set_exception_handler(lambda _, what: failures.append(what))
            self.a.attach()
            many = [self.peer.write(local, remote) for _ in range(600)]
            for transfer in many:
                transfer.wait(GUARD_S)
            for transfer in many:
                transfer._status = None
                transfer.add_done_callback(lambda _: self.a.close())
            while not self.a._calls.gone:
                await asyncio.sleep(0)
        run(main())
        self.assertEqual(failures, [])

    def test_of_too_many_peer_events_the_oldest_go(self):
        async def main():
            reader = self.b.attach()
            for i in range(4098):
                reader.peer(tcpx.PeerEvent("p", i, True, 0))
            self.assertEqual((await self.b.next_peer_event()).incarnation, 2)
            self.assertEqual(len(reader.peers), 4095)
            self.assertEqual(reader.peers.popitem()[1].incarnation, 4097)
        run(main())

    def test_a_transfer_is_given_as_a_future(self):
        _region, remote = self.shared(bytearray(64))
        local = self.a.register(bytearray(64))

        async def main():
            futures = [asyncio.ensure_future(self.peer.write(local, remote)) for _ in range(8)]
            done, left = await asyncio.wait(futures)
            self.assertEqual((done, left), (set(futures), set()))
            await asyncio.get_running_loop().create_task(self.wait(self.peer.write(local, remote)))
        run(main())

    def test_an_engine_is_closed_by_the_thread_whose_loop_reads_it(self):
        reads, asked = threading.Event(), threading.Event()

        async def main():
            self.a.attach()
            reads.set()
            await asyncio.get_running_loop().run_in_executor(None, asked.wait)
            self.a.close()
        thread = threading.Thread(target=run, args=(main(),))
        thread.start()
        reads.wait()
        try:
            with self.assertRaisesRegex(RuntimeError, "another thread's asyncio loop"):
                self.a.close()
            self.a.counters()
        finally:
            asked.set()
            thread.join()
        self.a.close()

    def test_a_loop_after_another_and_the_plain_calls_between(self):
        _region, remote = self.shared(bytearray(64))
        local = self.a.register(bytearray(64))

        async def main():
            await self.peer.write(local, remote, note="x")
            with self.assertRaises(RuntimeError):
                self.a.poll()
            return await self.b.next_note()
        for _ in range(3):
            self.assertEqual(run(main()).data, b"x")
            self.peer.write(local, remote, note="y").wait(GUARD_S)
            self.assertEqual(self.b.wait_note(GUARD_S).data, b"y")


class Logged(Pair):
    options = {"log": "WARN"}

    def test_the_reader_passes_log_lines_to_the_logger(self):
        async def main():
            with self.assertRaises(tcpx.Error):
                self.peer.recv(self.a.register(bytearray(8)).piece(8, 8))
            with self.assertLogs("tcpx", logging.WARNING) as logs:
                self.peer.notify(b"")
                await self.b.next_note()
            self.assertIn("TCPX_ERANGE", logs.output[0])
        tcpx.log_lines()
        run(main())


if __name__ == "__main__":
    unittest.main()
