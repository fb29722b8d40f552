# SPDX-License-Identifier: Apache-2.0
"""TLS 1.3 with a pre-shared key, written from RFC 8446 alone: the other end of our TLS.

Slow, and safe against nobody: it is here to be compared with. What it stands on is Python's
hashlib and hmac; X25519 (RFC 7748) and AES-128-GCM (FIPS 197, SP 800-38D) are below.
"""
import hashlib
import hmac

# --- AES-128-GCM ---


def _sbox():
    box, p, q = [0x63] * 256, 1, 1
    while True:
        p = (p ^ (p << 1) ^ (0x1b if p & 0x80 else 0)) & 0xff
        for shift in (1, 2, 4):
            q = (q ^ (q << shift)) & 0xff
        if q & 0x80:
            q ^= 0x09
        turned = q
        for shift in (1, 2, 3, 4):
            turned ^= ((q << shift) | (q >> (8 - shift))) & 0xff
        box[p] = turned ^ 0x63
        if p == 1:
            return box


SBOX = _sbox()


def _double(b):
    return ((b << 1) ^ (0x1b if b & 0x80 else 0)) & 0xff


def aes_block(key, block):
    words, rcon = [key[i:i + 4] for i in range(0, 16, 4)], 1
    while len(words) < 44:
        word = words[-1]
        if len(words) % 4 == 0:
            word = bytes(SBOX[b] for b in word[1:] + word[:1])
            word = bytes([word[0] ^ rcon]) + word[1:]
            rcon = _double(rcon)
        words.append(bytes(a ^ b for a, b in zip(word, words[-4])))
    state = [a ^ b for a, b in zip(block, key)]
    for turn in range(1, 11):
        state = [SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if turn < 10:
            mixed = []
            for c in range(0, 16, 4):
                col = state[c:c + 4]
                every = col[0] ^ col[1] ^ col[2] ^ col[3]
                mixed += [col[i] ^ every ^ _double(col[i] ^ col[(i + 1) % 4]) for i in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, b"".join(words[4 * turn:4 * turn + 4]))]
    return bytes(state)


def _ghash(h, data):
    y = 0
    for i in range(0, len(data), 16):
        x, v = y ^ int.from_bytes(data[i:i + 16], "big"), h
        y = 0
        for bit in range(127, -1, -1):
            if x >> bit & 1:
                y ^= v
            v = v >> 1 ^ (0xe1 << 120 if v & 1 else 0)
    return y


def _gcm(key, nonce, data, known, cipher):
    stream = b"".join(aes_block(key, nonce + (2 + i).to_bytes(4, "big"))
                      for i in range((len(data) + 15) // 16))
    other = bytes(a ^ b for a, b in zip(data, stream))
    sealed = data if cipher else other

    def pad(b):
        return b + bytes(-len(b) % 16)
    h = int.from_bytes(aes_block(key, bytes(16)), "big")
    tag = _ghash(h, pad(known) + pad(sealed) + (8 * len(known)).to_bytes(8, "big")
                 + (8 * len(sealed)).to_bytes(8, "big"))
    tag ^= int.from_bytes(aes_block(key, nonce + b"\0\0\0\1"), "big")
    return other, tag.to_bytes(16, "big")


def gcm_seal(key, nonce, plain, known):
    return b"".join(_gcm(key, nonce, plain, known, False))


def gcm_open(key, nonce, sealed, known):
    plain, tag = _gcm(key, nonce, sealed[:-16], known, True)
    if tag != sealed[-16:]:
        raise ValueError("bad record MAC")
    return plain


# --- X25519 ---

P = 2 ** 255 - 19


def x25519(scalar, point):
    k = int.from_bytes(scalar, "little") & ~7 & ~(1 << 255) | 1 << 254
    u = int.from_bytes(point, "little") & ~(1 << 255)
    x2, z2, x3, z3, swap = 1, 0, u, 1, 0
    for t in range(254, -1, -1):
        bit = k >> t & 1
        if swap != bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        da, cb = d * a % P, c * b % P
        x3, z3 = (da + cb) ** 2 % P, u * (da - cb) ** 2 % P
        aa, bb = a * a % P, b * b % P
        e = aa - bb
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


BASE = (9).to_bytes(32, "little")

# --- key schedule, RFC 8446 7.1 ---


def sha256(data):
    return hashlib.sha256(data).digest()


def mac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def expand(secret, info, length):
    out, block, n = b"", b"", 1
    while len(out) < length:
        block = mac(secret, block + info + bytes([n]))
        out, n = out + block, n + 1
    return out[:length]


def expand_label(secret, label, context, length):
    label = b"tls13 " + label
    return expand(secret, length.to_bytes(2, "big") + bytes([len(label)]) + label
                  + bytes([len(context)]) + context, length)


def derive(secret, label, messages):
    return expand_label(secret, label, sha256(messages), 32)


def finished(secret, messages):
    return mac(expand_label(secret, b"finished", b"", 32), sha256(messages))


def exporter(master, label, context, length):
    return expand_label(derive(master, label, b""), b"exporter", sha256(context), length)


class Direction:
    """Records under one traffic secret."""

    def __init__(self, secret):
        self.use(secret)

    def use(self, secret):
        self.secret, self.number = secret, 0
        self.key = expand_label(secret, b"key", b"", 16)
        self.iv = expand_label(secret, b"iv", b"", 12)

    def update(self):
        self.use(expand_label(self.secret, b"traffic upd", b"", 32))

    def nonce(self):
        number = self.number.to_bytes(12, "big")
        self.number += 1
        return bytes(a ^ b for a, b in zip(self.iv, number))

    def seal(self, kind, content):
        head = b"\x17\x03\x03" + (len(content) + 17).to_bytes(2, "big")
        return head + gcm_seal(self.key, self.nonce(), content + bytes([kind]), head)

    def open(self, record):
        plain = gcm_open(self.key, self.nonce(), record[5:], record[:5]).rstrip(b"\0")
        return plain[-1], plain[:-1]


def vector(data, size):
    return len(data).to_bytes(size, "big") + data


def message(kind, body):
    return bytes([kind]) + vector(body, 3)


def plain_record(kind, body):
    return bytes([kind]) + b"\x03\x03" + vector(body, 2)


def records(data):
    while data:
        size = 5 + int.from_bytes(data[3:5], "big")
        yield data[:size]
        data = data[size:]


def extensions(body):
    """{number: content} of a vector of extensions."""
    found, at = {}, 2
    while at < len(body):
        size = int.from_bytes(body[at + 2:at + 4], "big")
        found[int.from_bytes(body[at:at + 2], "big")] = body[at + 4:at + 4 + size]
        at += 4 + size
    return found


class Hello:
    """A ClientHello; each part can be another than ours, and the binder is right all the same."""

    def __init__(self, private, identity, random=bytes(range(32)), **other):
        self.parts = {
            "suites": b"\x13\x01", "versions": b"\x03\x04", "groups": b"\x00\x1d", "modes": b"\x01",
            "share": b"\x00\x1d" + vector(x25519(private, BASE), 2), "binder": None, "psk": True}
        self.parts.update(other)
        self.identity, self.random = identity, random

    def bytes(self, psk):
        p, ext = self.parts, []
        if p["versions"]:
            ext.append((43, vector(p["versions"], 1)))
        if p["groups"]:
            ext.append((10, vector(p["groups"], 2)))
        ext.append((13, vector(b"\x04\x03\x08\x07\x08\x04", 2)))
        if p["share"] is not None:
            ext.append((51, vector(p["share"], 2)))
        if p["modes"]:
            ext.append((45, vector(p["modes"], 1)))
        if p["psk"]:
            ext.append((41, vector(vector(self.identity, 2) + bytes(4), 2) + vector(bytes([32]) + bytes(32), 2)))
        body = b"\x03\x03" + self.random + b"\0" + vector(p["suites"], 2) + b"\x01\0" + vector(
            b"".join(n.to_bytes(2, "big") + vector(e, 2) for n, e in ext), 2)
        hello = message(1, body)
        if not p["psk"]:
            return hello
        return hello[:-32] + (p["binder"] or binder(psk, hello))


def binder(psk, hello):
    """Of a ClientHello that ends with one binder."""
    early = mac(bytes(32), psk)
    return finished(derive(early, b"ext binder", b""), hello[:-35])


class Schedule:
    """Secrets from the key, the (EC)DHE and the hellos on."""

    def __init__(self, psk, shared, messages):
        early = mac(bytes(32), psk)
        self.handshake = mac(derive(early, b"derived", b""), shared)
        self.client = derive(self.handshake, b"c hs traffic", messages)
        self.server = derive(self.handshake, b"s hs traffic", messages)

    def application(self, messages):
        """Up to the server's Finished."""
        master = mac(derive(self.handshake, b"derived", b""), bytes(32))
        self.client_data = derive(master, b"c ap traffic", messages)
        self.server_data = derive(master, b"s ap traffic", messages)
        self.exporter = derive(master, b"exp master", messages)
