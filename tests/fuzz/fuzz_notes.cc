/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of NIXL's notifications, as peers may send them: whatever came before, no more text comes
 * out than went in, no more memory is kept than was sent, and what is right arrives whole.
 */
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "fuzz.h"
}
#include "nixl/notes.h"
#include "nixl/say.h"

using nixlabi::Notifs;

void
tcpx_nixl_warn(const char *, ...)
{
}

/* The kinds of a part, beside a small one whose place in its whole is any. */
enum {
	CARL = 1,
	OTHER_NONCE = 2,
	NO_PART = 4,
	FITS = 8,
	LARGE = 16,
	FAR_OUT = 32,
	CUT = 64,
	LATER = 128
};

/* Bytes that each peer costs beside those of its notes. */
constexpr size_t PEER_COST = 4096, KEPT_MAX = 30000;

static char peers[10];
static int handles;

static void
give_back(tcpx_peer *)
{
	handles--;
}

/* NULL: its sender has gone. */
static TcpxNixlNotes::Peer
peer(unsigned number)
{
	handles += number != 0;
	return { number ? reinterpret_cast<tcpx_peer *>(&peers[number]) : nullptr, give_back };
}

/* The beginning of a part: its kind, number and bytes, length of the whole, offset there. */
struct Record {
	uint8_t kind, number, total, at;
};

static std::string
part_of(const Record &r, const uint8_t *data, size_t len)
{
	std::string part(std::string("\0TCPXN1\n", 8) + std::string(24, '\0'));
	uint32_t scale = r.kind & LARGE ? 14 : 0, total = r.total << scale, at = r.at << scale;

	part.append(reinterpret_cast<const char *>(data), len);
	if (r.kind & NO_PART)
		part[1] = 'x';
	if (r.kind & FAR_OUT)
		at |= 0xffff0000;
	if (r.kind & FITS && (at > total || len > total - at))
		at = 0;
	part[8] = static_cast<char>(r.kind & OTHER_NONCE);
	part[16] = static_cast<char>(r.number % 8);
	memcpy(&part[24], &total, sizeof(total));
	memcpy(&part[28], &at, sizeof(at));
	if (r.kind & CUT)
		part.resize(r.number % part.size());
	return part;
}

struct Right {
	explicit Right(const std::string &name) : agent(name), from(name)
	{
		for (auto rest = from.split(text); !rest.is_done(); rest.step())
			parts.push_back(rest.first());
	}
	std::string agent, text = std::string(9000, 'x');
	TcpxNixlNotes from;
	std::vector<std::string> parts;
};

/* From a peer that has sent anything before. */
static void
arrives(TcpxNixlNotes &bert, const Right &right, unsigned number, uint64_t now_ms)
{
	Notifs out;

	for (const std::string &part : right.parts) {
		promise(out.empty());
		bert.take(peer(number), right.from.engine_name().c_str(), part.data(), part.size(),
			  now_ms, out);
	}
	promise(out.size() == 1 && out[0].second == right.text && out[0].first == right.agent);
}

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const Right anna("anna"), long_name(std::string(300, 'n'));
	TcpxNixlNotes bert("bert", KEPT_MAX);
	size_t in = 0, came = 0;
	uint64_t now_ms = 0;
	Record r = {};
	Notifs out;

	while (len >= sizeof(r)) {
		memcpy(&r, data, sizeof(r));
		data += sizeof(r);
		len -= sizeof(r);
		size_t bytes = std::min<size_t>(len, r.number);
		std::string part = part_of(r, data, bytes);

		in += part.size();
		now_ms += r.kind & LATER ? 20000 : 0;
		bert.take(peer(r.number % 9), r.kind & CARL ? "carl" : "dora", part.data(),
			  part.size(), now_ms, out);
		promise(bert.kept() <= 8 * PEER_COST + in && bert.kept() <= KEPT_MAX);
		promise(bert.joins() == (handles > 0) && handles <= 8);
		if (r.kind & LATER)
			bert.expire(now_ms, [](tcpx_peer *) { return true; });
		data += bytes;
		len -= bytes;
	}
	for (const auto &note : out)
		came += note.second.size();
	promise(came <= in);
	arrives(bert, anna, 1 + r.number % 8, now_ms + 30000);
	arrives(bert, long_name, 1 + r.at % 8, now_ms + 30000);
	bert.expire(now_ms + 31000, [](tcpx_peer *) { return true; });
	promise(!bert.joins() && !bert.kept() && !handles);
	return 0;
}
