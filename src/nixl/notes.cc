/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part: MAGIC (8 bytes), nonce and number of the notification (u64, u64), bytes of its body and
 * this part's offset there (u32, u32), then the bytes. The body: length of the agent's name
 * (u16; 0: that of the engine), the name, the text. Numbers are little-endian.
 */
#include "nixl/notes.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <random>

#include "nixl/say.h"

using nixlabi::Notifs;

namespace {

constexpr char MAGIC[8] = { '\0', 'T', 'C', 'P', 'X', 'N', '1', '\n' };
constexpr size_t HEAD = sizeof(MAGIC) + 8 + 8 + 4 + 4, ROOM = TCPX_NOTE_MAX - HEAD;
constexpr size_t TEXT_MAX = 4u << 20, BODY_MAX = TEXT_MAX + 2 + UINT16_MAX;
constexpr size_t JOINING_COST = 4096; /* beside its bytes: its place, the peer that it holds */
constexpr size_t SURE_BYTES = 64u << 10; /* of a body that have come: the rest may be believed */
constexpr uint64_t SILENT_MS = 30000, LOOK_MS = 1000;

void
put(std::string &out, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		out.push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t
get(const char *at, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= static_cast<uint64_t>(static_cast<uint8_t>(at[i])) << (8 * i);
	return value;
}

bool
is_part(const char *data, size_t len)
{
	return len >= sizeof(MAGIC) && memcmp(data, MAGIC, sizeof(MAGIC)) == 0;
}

/* Two names that begin alike differ by the hash (FNV-1a). */
std::string
shortened(const std::string &name)
{
	uint64_t hash = 0xcbf29ce484222325u;
	char text[18];

	for (char c : name)
		hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
	snprintf(text, sizeof(text), "~%016" PRIx64, hash);
	return name.substr(0, TCPX_NAME_MAX - sizeof(text)) + text;
}

/* A body with all its bytes. */
void
deliver(const char *sender, std::string body, Notifs &out)
{
	size_t name = std::min<size_t>(get(body.data(), 2), body.size() - 2);
	std::string agent = name ? body.substr(2, name) : sender;

	body.erase(0, 2 + name);
	out.emplace_back(std::move(agent), std::move(body));
}

} /* namespace */

TcpxNixlNotes::TcpxNixlNotes(const std::string &agent, size_t max)
	: short_name(agent), kept_max(max)
{
	std::random_device random;

	own_nonce = static_cast<uint64_t>(random()) << 32 | random();
	if (agent.size() >= TCPX_NAME_MAX) {
		long_name = agent;
		short_name = shortened(agent);
	}
}

bool
TcpxNixlNotes::fits(const std::string &text) const
{
	return long_name.empty() && text.size() <= TCPX_NOTE_MAX &&
	       !is_part(text.data(), text.size());
}

size_t
TcpxNixlNotes::count(const std::string &text) const
{
	if (text.size() > TEXT_MAX || long_name.size() > UINT16_MAX) {
		tcpx_nixl_warn("a notification of %zu bytes: at most %zu are allowed", text.size(),
			       TEXT_MAX);
		return 0;
	}
	return (2 + long_name.size() + text.size() + ROOM - 1) / ROOM;
}

TcpxNixlNotes::Parts
TcpxNixlNotes::split(const std::string &text) const
{
	Parts parts = { {}, own_nonce, next++, 0 };

	parts.body.reserve(2 + long_name.size() + text.size());
	put(parts.body, long_name.size(), 2);
	parts.body += long_name;
	parts.body += text;
	return parts;
}

std::string
TcpxNixlNotes::Parts::first() const
{
	std::string part(MAGIC, sizeof(MAGIC));

	part.reserve(TCPX_NOTE_MAX);
	put(part, nonce, 8);
	put(part, number, 8);
	put(part, body.size(), 4);
	put(part, at, 4);
	return part.append(body, at, ROOM);
}

void
TcpxNixlNotes::Parts::step()
{
	at = std::min(body.size(), at + ROOM);
}

/* ---- joining --------------------------------------------------------------------- */

bool
TcpxNixlNotes::read_head(const char *data, size_t len, Head &out)
{
	if (len <= HEAD)
		return false;
	out = { get(data + 8, 8), get(data + 16, 8), get(data + 24, 4), get(data + 28, 4),
		len - HEAD };
	return out.total >= 2 && out.total <= BODY_MAX && out.bytes <= out.total &&
	       out.at <= out.total - out.bytes;
}

bool
TcpxNixlNotes::is_one_of_several(const char *data, size_t len)
{
	Head h;

	return is_part(data, len) && read_head(data, len, h) && h.bytes < h.total;
}

size_t
TcpxNixlNotes::Joining::cost() const
{
	return JOINING_COST + body.size();
}

/* Returns what has come of it. */
std::string
TcpxNixlNotes::drop(Place j)
{
	std::string body;

	by_size.erase({ j->body.size(), j->peer.get() });
	kept_bytes -= j->cost();
	body.swap(j->body);
	by_peer.erase(j->peer.get());
	joining.erase(j);
	return body;
}

/* Drops a notification that is not whole. The warning is here, as its sender cannot know. */
void
TcpxNixlNotes::give_up(Place j, const char *why)
{
	if (!said_given_up)
		tcpx_nixl_warn("a notification of %s is dropped: %zu of its %zu bytes came, %s (once)",
			       j->sender.c_str(), j->body.size(), j->total, why);
	said_given_up = true;
	drop(j);
}

void
TcpxNixlNotes::expire(uint64_t now_ms, bool (*has_gone)(tcpx_peer *))
{
	if (now_ms < looked_ms + LOOK_MS)
		return;
	looked_ms = now_ms;
	for (Place j = joining.begin(); j != joining.end() && now_ms >= j->grew_ms + SILENT_MS;) {
		Place silent = j++;

		if (has_gone(silent->peer.get()))
			give_up(silent, "and its sender has gone");
	}
}

void
TcpxNixlNotes::clear()
{
	while (!joining.empty())
		drop(joining.begin());
}

/* A sender that lost its session in the middle of a notification begins the next without its end. */
TcpxNixlNotes::Place
TcpxNixlNotes::begin(Peer peer, const char *sender, const Head &h)
{
	auto before = by_peer.find(peer.get());

	if (before != by_peer.end())
		drop(before->second);
	joining.push_back({ std::move(peer), sender, h.nonce, h.number, h.total, 0, {} });
	Place j = std::prev(joining.end());
	kept_bytes += j->cost();
	by_peer[j->peer.get()] = j;
	by_size.insert({ 0, j->peer.get() });
	return j;
}

/* end(): its beginning was dropped. */
TcpxNixlNotes::Place
TcpxNixlNotes::find(const tcpx_peer *peer, const Head &h)
{
	auto found = by_peer.find(peer);

	if (found == by_peer.end())
		return joining.end();
	Place j = found->second;
	return j->nonce == h.nonce && j->number == h.number && j->total == h.total &&
	       j->body.size() == h.at ? j : joining.end();
}

/* Appends a part. If all together are too large then, a notification that has long not grown goes, else the largest:
 * many who keep theirs unfinished cost none that needs less than an equal share. */
void
TcpxNixlNotes::grow(Place j, const char *bytes, size_t len, uint64_t now_ms)
{
	/* the system gives memory for a page when it is written, and nothing is copied later */
	if (j->body.size() >= SURE_BYTES)
		j->body.reserve(j->total);
	by_size.erase({ j->body.size(), j->peer.get() });
	j->body.append(bytes, len);
	by_size.insert({ j->body.size(), j->peer.get() });
	j->grew_ms = now_ms;
	kept_bytes += len;
	joining.splice(joining.end(), joining, j);
	while (kept_bytes > kept_max) {
		bool silent = now_ms >= joining.front().grew_ms + SILENT_MS;

		give_up(silent ? joining.begin() : by_peer[by_size.rbegin()->second],
			"and those that are not whole fill the memory for them");
	}
}

void
TcpxNixlNotes::take(Peer peer, const char *sender, const char *data, size_t len, uint64_t now_ms,
		    Notifs &out)
{
	Head h;

	if (!is_part(data, len)) {
		out.emplace_back(sender, std::string(data, len));
	} else if (!read_head(data, len, h)) {
		if (!said_damaged)
			tcpx_nixl_warn("damaged notifications, as from %s, are dropped (once)", sender);
		said_damaged = true;
	} else if (h.bytes == h.total) {
		deliver(sender, std::string(data + HEAD, h.bytes), out);
	} else if (peer) {
		Place j = h.at == 0 ? begin(std::move(peer), sender, h) : find(peer.get(), h);

		if (j == joining.end())
			return;
		if (h.at + h.bytes < h.total)
			grow(j, data + HEAD, h.bytes, now_ms);
		else
			deliver(sender, drop(j).append(data + HEAD, h.bytes), out);
	}
}
