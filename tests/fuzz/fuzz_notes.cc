/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of NIXL's notifications, as peers may send them: whatever came before, no more text comes out
 * than went in, and a notification that is right arrives whole.
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
enum { CARL = 1, OTHER_NONCE = 2, NO_PART = 4, FITS = 8, LARGE = 16, FAR_OUT = 32, CUT = 64 };

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
	explicit Right(const std::string &name) : agent(name), from(name), parts(from.parts(text))
	{
	}
	std::string agent, text = std::string(9000, 'x');
	TcpxNixlNotes from;
	std::vector<std::string> parts;
};

/* From any of its parts on. */
static void
arrives(TcpxNixlNotes &bert, const Right &right, size_t first)
{
	Notifs out;

	for (size_t i = 0; i < right.parts.size(); i++) {
		const std::string &part = right.parts[(first + i) % right.parts.size()];

		promise(out.empty());
		bert.take(right.from.engine_name().c_str(), part.data(), part.size(), out);
	}
	promise(out.size() == 1 && out[0].second == right.text && out[0].first == right.agent);
}

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const Right anna("anna"), long_name(std::string(300, 'n'));
	TcpxNixlNotes bert("bert");
	size_t in = 0, came = 0;
	Record r = {};
	Notifs out;

	while (len >= sizeof(r)) {
		memcpy(&r, data, sizeof(r));
		data += sizeof(r);
		len -= sizeof(r);
		size_t bytes = std::min<size_t>(len, r.number);
		std::string part = part_of(r, data, bytes);

		in += part.size();
		bert.take(r.kind & CARL ? "carl" : "dora", part.data(), part.size(), out);
		data += bytes;
		len -= bytes;
	}
	for (const auto &note : out)
		came += note.second.size();
	promise(came <= in);
	arrives(bert, anna, r.number);
	arrives(bert, long_name, r.at);
	return 0;
}
