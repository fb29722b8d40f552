# SPDX-License-Identifier: Apache-2.0
"""Our TLS against one written from the RFC alone (tls13.py), right and wrong.

Usage: peer_test.py SOURCE-ROOT SEAL-PIPE
"""
import hashlib
import hmac
import os
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(sys.argv[1], "tests/style"), os.path.dirname(os.path.abspath(__file__))]
import tap  # noqa: E402
from tls13 import (BASE, Direction, Hello, Schedule, aes_block, binder, derive, expand_label, exporter,  # noqa: E402
                   extensions, finished, gcm_seal, mac, message, plain_record, records, vector, x25519)

PIPE = sys.argv[2]
SECRET = b"correct horse battery staple"
PRIVATE = bytes(range(100, 132))
ALERT, HANDSHAKE, DATA = 21, 22, 23
with open(os.path.join(sys.argv[1], "include/tcpx/err.h"), encoding="utf-8") as header:
    CODE = {name: int(value) for name, value in re.findall(r"(TCPX_E\w+)\s*=\s*(-\d+)", header.read())}
EAUTH, EPROTO, EPEERGONE = (CODE["TCPX_" + name] for name in ("EAUTH", "EPROTO", "EPEERGONE"))


def key_of(secret):
    return (hmac.new(b"tcpx-p2p psk", secret, hashlib.sha256).digest(),
            hmac.new(b"tcpx-p2p id", secret, hashlib.sha256).digest()[:16])


PSK, IDENTITY = key_of(SECRET)


class Ours:
    """An end of ours in a process of its own."""

    def __init__(self, role, *secrets):
        self.files = []
        for secret in secrets or (SECRET,):
            file = tempfile.NamedTemporaryFile()
            file.write(secret + b"\n")
            file.flush()
            self.files.append(file)
        self.process = subprocess.Popen([PIPE, role, ",".join(f.name for f in self.files)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait() == 0

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def value(self, *words):
        text = self.ask(*words)
        return int(text) if text.startswith("-") else bytes.fromhex(text)

    def feed(self, data):
        return self.value("feed", data.hex())

    def take(self, plain=b""):
        return self.value("take", plain.hex() or "-")

    def export(self, label, context, length):
        return self.value("export", label, context.hex() or "-", length)

    def proven(self):
        return self.ask("proven") == "yes"


class Opener:
    """The RFC's client, with our acceptor."""

    def __init__(self, ours, psk=PSK, identity=IDENTITY, hello=None):
        self.ours, self.psk = ours, psk
        self.hello = (hello or Hello(PRIVATE, identity)).bytes(psk)

    def begin(self):
        """Our acceptor's code, or nothing."""
        return self.ours.feed(plain_record(HANDSHAKE, self.hello))

    def read_answer(self):
        flight = list(records(self.ours.take()))
        assert flight[0][0] == HANDSHAKE and flight[0][5] == 2, "no ServerHello"
        server = flight[0][5:]
        body = server[4:]
        assert body[:2] == b"\x03\x03" and body[34] == 0 and body[35:37] == b"\x13\x01", body.hex()
        ext = extensions(body[38:])
        assert sorted(ext) == [41, 43, 51], "extensions %s" % sorted(ext)
        assert ext[43] == b"\x03\x04" and ext[41] == b"\0\0" and ext[51][:4] == b"\0\x1d\0\x20"
        messages = self.hello + server
        self.keys = Schedule(self.psk, x25519(PRIVATE, ext[51][4:]), messages)
        self.read = Direction(self.keys.server)
        inside = b""
        for record in flight[1:]:
            kind, content = self.read.open(record)
            assert kind == HANDSHAKE, "a record of kind %d in the answer" % kind
            inside += content
        size = 4 + int.from_bytes(inside[1:4], "big")
        assert inside[0] == 8, "no EncryptedExtensions"
        proof = inside[size:]
        assert proof == message(20, finished(self.keys.server, messages + inside[:size]))
        self.messages = messages + inside

    def prove(self, spoil=0):
        proof = finished(self.keys.client, self.messages)
        proof = bytes([proof[0] ^ spoil]) + proof[1:]
        self.write = Direction(self.keys.client)
        answer = self.ours.feed(self.write.seal(HANDSHAKE, message(20, proof)))
        self.keys.application(self.messages)
        self.read, self.write = Direction(self.keys.server_data), Direction(self.keys.client_data)
        return answer

    def open(self):
        assert self.begin() == b"", self.ours.ask("text")
        self.read_answer()
        assert self.prove() == b"", self.ours.ask("text")
        assert self.ours.proven()
        return self


class Acceptor:
    """The RFC's server, with our opener."""

    def __init__(self, ours, psk=PSK):
        self.ours, self.psk = ours, psk
        first = self.ours.take()
        assert len(first) == 5 + int.from_bytes(first[3:5], "big")
        self.hello = first[5:]
        size = int.from_bytes(self.hello[39:41], "big")
        self.suites = self.hello[41:41 + size]
        self.ext = extensions(self.hello[41 + size + 2:])

    def answer(self, ext=None, **other):
        """ServerHello and what follows; the parts of the hello can be others."""
        ext = ext if ext is not None else {
            43: b"\x03\x04", 51: b"\0\x1d" + vector(x25519(PRIVATE, BASE), 2), 41: b"\0\0"}
        body = b"\x03\x03" + other.get("random", bytes(range(32))) + b"\0" + other.get("suite", b"\x13\x01") + b"\0"
        body += vector(b"".join(n.to_bytes(2, "big") + vector(e, 2) for n, e in ext.items()), 2)
        messages = self.hello + message(2, body)
        shared = x25519(PRIVATE, self.ext[51][6:])
        psk = self.psk if 41 in ext else bytes(32)
        self.keys = Schedule(psk, shared if 51 in ext else bytes(32), messages)
        inside = message(8, b"\0\0")
        if "certificate" in other:
            inside += message(11, b"\0" + vector(vector(other["certificate"], 3) + b"\0\0", 3))
        proof = finished(self.keys.server, messages + inside)
        proof = bytes([proof[0] ^ other.get("spoil", 0)]) + proof[1:]
        inside += message(20, proof)
        self.messages = messages + inside
        self.keys.application(self.messages)
        return self.ours.feed(plain_record(HANDSHAKE, message(2, body))
                              + Direction(self.keys.server).seal(HANDSHAKE, inside))

    def read_proof(self):
        kind, content = Direction(self.keys.client).open(self.ours.take())
        assert kind == HANDSHAKE and content == message(20, finished(self.keys.client, self.messages))
        self.write, self.read = Direction(self.keys.server_data), Direction(self.keys.client_data)


# --- the RFC's own numbers, so that tls13.py is one ---

def tls13_agrees_with_published_vectors():
    h = bytes.fromhex
    assert aes_block(h("000102030405060708090a0b0c0d0e0f"), h("00112233445566778899aabbccddeeff")).hex() \
        == "69c4e0d86a7b0430d8cdb78070b4c55a", "FIPS 197, C.1"
    sealed = gcm_seal(h("feffe9928665731c6d6a8f9467308308"), h("cafebabefacedbaddecaf888"), h(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"), h("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
    assert sealed[-16:].hex() == "5bc94fbc3221a5db94fae95ae7121a47", "GCM's test case 4"
    assert x25519(BASE, BASE).hex() == \
        "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079", "RFC 7748 5.2"
    early = mac(bytes(32), h("4ecd0eb6ec3b4d87f5d6028f922ca4c5851a277fd41311c9e62d2c9492e1c4f3"))
    assert early.hex() == "9b2188e9b2fc6d64d71dc329900e20bb41915000f678aa839cbb797cb7d8332c", "RFC 8448 4"
    key = expand_label(derive(early, b"res binder", b""), b"finished", b"", 32)
    assert key.hex() == "5588673e72cb59c87d220caffe94f2dea9a3b1609f7d50e90a48227db9ed7eaa", "RFC 8448 4"
    assert mac(key, h("63224b2e4573f2d3454ca84b9d009a04f6be9e05711a8396473aefa01e924a14")).hex() == \
        "3add4fb2d8fdf822a0ca3cf7678ef5e88dae990141c5924d57bb6fa31b9e5f9d", "RFC 8448 4"


# --- agreement ---

def our_acceptor_agrees_with_the_rfc():
    with Ours("acceptor") as ours:
        peer = Opener(ours).open()
        assert ours.take() == b"", "something after the handshake, as a ticket"
        for size in (1, 100, 16384):
            assert ours.feed(peer.write.seal(DATA, b"x" * size)) == b"x" * size
            assert peer.read.open(ours.take(b"y" * size)) == (DATA, b"y" * size)
        for label, context, size in (("tcpx-p2p-a", b"", 32), ("tcpx-p2p-b", b"context", 80)):
            assert ours.export(label, context, size) == \
                exporter(peer.keys.exporter, label.encode(), context, size)


def our_opener_agrees_with_the_rfc():
    with Ours("opener") as ours:
        peer = Acceptor(ours)
        assert peer.answer() == b"", ours.ask("text")
        assert ours.proven()
        peer.read_proof()
        assert ours.feed(peer.write.seal(DATA, b"hello")) == b"hello"
        assert peer.read.open(ours.take(b"world")) == (DATA, b"world")
        assert ours.export("tcpx-p2p", b"c", 32) == exporter(peer.keys.exporter, b"tcpx-p2p", b"c", 32)


def our_hello_offers_one_of_each():
    with Ours("opener") as ours:
        peer = Acceptor(ours)
        ext = peer.ext
        assert peer.hello[38] == 0, "a session id"
        assert peer.suites.replace(b"\x00\xff", b"") == b"\x13\x01", peer.suites.hex()
        assert ext[43] == b"\x02\x03\x04" and ext[10] == b"\0\x02\0\x1d" and ext[45] == b"\x01\x01"
        assert ext[51][:6] == b"\0\x24\0\x1d\0\x20" and len(ext[51]) == 38
        assert not {35, 42, 0, 16} & set(ext), "ticket, early data, a name or a protocol: %s" % set(ext)
        # one identity of 16 bytes, which the secret gives and does not give away
        assert ext[41][:24] == vector(vector(IDENTITY, 2) + bytes(4), 2)
        assert peer.hello[-32:] == binder(PSK, peer.hello), "the binder"


def either_secret_of_two_is_taken():
    for secret in (SECRET, b"the one that comes after it"):
        with Ours("acceptor", SECRET, b"the one that comes after it") as ours:
            Opener(ours, *key_of(secret)).open()


def each_side_changes_its_key_and_follows():
    for role in ("opener", "acceptor"):
        with Ours(role) as ours:
            if role == "acceptor":
                peer = Opener(ours).open()
            else:
                peer = Acceptor(ours)
                assert peer.answer() == b""
                peer.read_proof()
            ours.ask("limit", 3)
            changes = 0
            for turn in range(200):
                for record in records(ours.take(b"%d" % turn)):
                    kind, content = peer.read.open(record)
                    if kind == HANDSHAKE:
                        assert content == message(24, b"\0"), "an answer is asked for"
                        peer.read.update()
                        changes += 1
                assert (kind, content) == (DATA, b"%d" % turn)
                # the peer's change, with and without a wish for ours
                update = peer.write.seal(HANDSHAKE, message(24, bytes([turn % 2])))
                peer.write.update()
                assert ours.feed(update + peer.write.seal(DATA, b"more")) == b"more", ours.ask("text")
            # an answer to each wish, with the next data at the latest; 200 records, 3 under one key
            assert 100 <= changes <= 100 + 200 // 3, changes
            assert ours.export("tcpx-p2p", b"", 32) == exporter(peer.keys.exporter, b"tcpx-p2p", b"", 32)


def wishes_without_end_are_refused():
    with Ours("acceptor") as ours:
        peer = Opener(ours).open()
        flood = b""
        for _ in range(100):
            flood += peer.write.seal(HANDSHAKE, message(24, b"\1"))
            peer.write.update()
        assert ours.feed(flood) == EPROTO
        assert "wants more answers than it reads" in ours.ask("text")
        assert len(ours.take()) < 100 * 27


# --- our acceptor is asked for less ---

def refused(hello, codes, psk=PSK):
    with Ours("acceptor") as ours:
        code = Opener(ours, psk, hello=hello).begin()
        text = ours.ask("text")
        assert code in codes, "%s: %s" % (code, text)
        assert not ours.proven()
        alert = ours.take()
        # the application's reason for this: no word before the version and the alert
        assert len(alert) in (0, 7) and (not alert or alert[0] == ALERT), alert.hex()
        assert ours.take(b"data") == CODE["TCPX_ESTATE"]
        return code


def openers_without_the_key_are_refused():
    assert refused(Hello(PRIVATE, IDENTITY, psk=False), [EAUTH])
    assert refused(Hello(PRIVATE, b"nobody"), [EAUTH])
    assert refused(Hello(PRIVATE, IDENTITY), [EAUTH], key_of(b"some other secret of any length")[0])
    right = Hello(PRIVATE, IDENTITY).bytes(PSK)[-32:]
    for at in range(32):
        wrong = right[:at] + bytes([right[at] ^ 1]) + right[at + 1:]
        assert refused(Hello(PRIVATE, IDENTITY, binder=wrong), [EAUTH])


def downgrades_with_a_right_binder_are_refused():
    both = [EPROTO, EAUTH]
    for other in (
            {"versions": b""}, {"versions": b"\x03\x03"}, {"versions": b"\x03\x03\x03\x02"},
            {"modes": b"\0"}, {"modes": b""}, {"modes": b"\x02"},
            {"suites": b"\x13\x02"}, {"suites": b"\x13\x03"}, {"suites": b"\x13\x04"},
            {"suites": b"\xc0\x2f\x00\x9c"}, {"suites": b"\x00\xa8"},
            {"groups": b"\0\x17", "share": b"\0\x17" + vector(b"\x04" + bytes(64), 2)},
            {"groups": b"\0\x1e", "share": b"\0\x1e" + vector(bytes(56), 2)},
            {"groups": b"", "share": b""}, {"share": None}):
        refused(Hello(PRIVATE, IDENTITY, **other), both)
    # what has no order of 2^252 gives no secret (RFC 7748 6.1)
    refused(Hello(PRIVATE, IDENTITY, share=b"\0\x1d" + vector(bytes(32), 2)), both)


def a_weaker_choice_beside_ours_is_not_taken():
    for other in ({"versions": b"\x03\x03\x03\x04"}, {"modes": b"\0\x01"}, {"suites": b"\x13\x02\x13\x01\xc0\x2f"}):
        with Ours("acceptor") as ours:
            Opener(ours, hello=Hello(PRIVATE, IDENTITY, **other)).open()


def no_tls_is_refused_at_once():
    for text in (b"GET / HTTP/1.1\r\n\r\n", b"TCXF" + bytes(60), bytes(64), b"\xff" * 64, b"\x16\x03\x01\xff\xff",
                 b"\x80\x2e\x01\x03\x01" + bytes(60)):
        for role in ("acceptor", "opener"):
            with Ours(role) as ours:
                assert ours.feed(text) == EPROTO, (text, role, ours.ask("text"))
                assert ours.feed(b"") == EPROTO


def a_hello_without_end_is_refused():
    with Ours("acceptor") as ours:
        begin = plain_record(HANDSHAKE, b"\x01\x01\xff\xff" + bytes(1000))
        codes = [ours.feed(begin if i == 0 else plain_record(HANDSHAKE, bytes(1000))) for i in range(40)]
        assert EPROTO in codes, codes


def a_wrong_proof_at_the_end_is_refused():
    with Ours("acceptor") as ours:
        peer = Opener(ours)
        assert peer.begin() == b""
        peer.read_answer()
        assert peer.prove(spoil=1) == EAUTH
        assert not ours.proven()
    # data before the proof
    with Ours("acceptor") as ours:
        peer = Opener(ours)
        assert peer.begin() == b""
        peer.read_answer()
        assert ours.feed(Direction(peer.keys.client).seal(DATA, b"data")) == EPROTO
        assert not ours.proven()


# --- our opener is offered less ---

def not_taken(codes, ext=None, **other):
    with Ours("opener") as ours:
        code = Acceptor(ours, other.pop("psk", PSK)).answer(ext, **other)
        assert code in codes, "%s: %s" % (code, ours.ask("text"))
        assert not ours.proven()
        assert ours.take(b"data") == CODE["TCPX_ESTATE"]


def acceptors_without_the_key_are_refused():
    share = b"\0\x1d" + vector(x25519(PRIVATE, BASE), 2)
    # it takes our key and does not have it
    not_taken([EAUTH], psk=key_of(b"some other secret of any length")[0])
    not_taken([EAUTH], spoil=1)
    # it goes on without: no certificate, and one of any kind
    not_taken([EPROTO, EAUTH], {43: b"\x03\x04", 51: share})
    not_taken([EPROTO, EAUTH], {43: b"\x03\x04", 51: share}, certificate=b"\x30\x03\x02\x01\x01")


def answers_that_are_less_are_refused():
    share = b"\0\x1d" + vector(x25519(PRIVATE, BASE), 2)
    both = [EPROTO, EAUTH]
    # a key without (EC)DHE; a key that was not offered; an older version; another group and suite
    not_taken(both, {43: b"\x03\x04", 41: b"\0\0"})
    not_taken(both, {43: b"\x03\x04", 51: share, 41: b"\0\1"})
    not_taken(both, {51: share, 41: b"\0\0"})
    not_taken(both, {43: b"\x03\x03", 51: share, 41: b"\0\0"})
    not_taken(both, {43: b"\x03\x04", 51: b"\0\x17" + vector(bytes(65), 2), 41: b"\0\0"})
    not_taken(both, {43: b"\x03\x04", 51: b"\0\x1d" + vector(bytes(32), 2), 41: b"\0\0"})
    for suite in (b"\x13\x02", b"\x13\x03", b"\xc0\x2f"):
        not_taken(both, suite=suite)
    # it asks for another group: HelloRetryRequest
    again = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
    not_taken(both, {43: b"\x03\x04", 51: b"\0\x17"}, random=again)


# --- ends ---

def an_end_says_which():
    for alert, code in ((0, EPEERGONE), (20, EPROTO), (80, EPROTO)):
        with Ours("acceptor") as ours:
            peer = Opener(ours).open()
            last = peer.write.seal(DATA, b"last") + peer.write.seal(ALERT, bytes([2 if alert else 1, alert]))
            assert ours.feed(last) == b"last"
            assert ours.feed(b"") == code and ours.feed(b"") == code
    # in clear, before any proof
    for alert, code in ((40, EAUTH), (47, EAUTH), (51, EAUTH), (70, EPROTO), (50, EPROTO), (0, EPEERGONE)):
        with Ours("opener") as ours:
            ours.take()
            assert ours.feed(plain_record(ALERT, bytes([2, alert]))) == code, (alert, ours.ask("text"))
    # and in clear after it: somebody else's
    with Ours("acceptor") as ours:
        Opener(ours).open()
        assert ours.feed(plain_record(ALERT, b"\1\0")) == EPROTO, ours.ask("text")


TESTS = [value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", "") == "__main__" and name.islower()
         and name not in ("key_of", "refused", "not_taken")]
tap.run(TESTS)
