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
#include "tcpx/tcpx.h"

namespace {

constexpr char MAGIC[8] = { '\0', 'T', 'C', 'P', 'X', 'N', '1', '\n' };
constexpr size_t HEAD = sizeof(MAGIC) + 8 + 8 + 4 + 4, ROOM = TCPX_NOTE_MAX - HEAD;
constexpr size_t TEXT_MAX = 4u << 20, BODY_MAX = TEXT_MAX + 2 + UINT16_MAX;
/* What is being joined: the oldest goes first. Parts whose sender has gone end that way. */
constexpr size_t JOINING_MAX = 1024, JOINING_BYTES = 16 * BODY_MAX;

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

} /* namespace */

TcpxNixlNotes::TcpxNixlNotes(const std::string &agent) : short_name(agent)
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

std::vector<std::string>
TcpxNixlNotes::parts(const std::string &text) const
{
	std::vector<std::string> all;
	uint64_t number = next++;
	std::string body;

	if (text.size() > TEXT_MAX || long_name.size() > UINT16_MAX) {
		tcpx_nixl_warn("a notification of %zu bytes: at most %zu are allowed", text.size(),
			       TEXT_MAX);
		return all;
	}
	put(body, long_name.size(), 2);
	body += long_name + text;
	for (size_t at = 0; at < body.size(); at += ROOM) {
		std::string part(MAGIC, sizeof(MAGIC));

		put(part, own_nonce, 8);
		put(part, number, 8);
		put(part, body.size(), 4);
		put(part, at, 4);
		all.push_back(part + body.substr(at, ROOM));
	}
	return all;
}

std::list<TcpxNixlNotes::Joining>::iterator
TcpxNixlNotes::find(const char *sender, uint64_t nonce, uint64_t number, size_t total)
{
	auto found = std::find_if(joining.begin(), joining.end(), [&](const Joining &j) {
		return j.number == number && j.nonce == nonce && j.sender == sender;
	});

	if (found != joining.end())
		return found;
	joining.push_back({ sender, nonce, number, total, std::string(total, '\0') });
	joining_bytes += total;
	while (joining.size() > JOINING_MAX || joining_bytes > JOINING_BYTES) {
		joining_bytes -= joining.front().body.size();
		joining.pop_front();
	}
	return std::prev(joining.end());
}

void
TcpxNixlNotes::take(const char *sender, const char *data, size_t len, nixlabi::Notifs &out)
{
	if (!is_part(data, len)) {
		out.emplace_back(sender, std::string(data, len));
		return;
	}
	size_t total = len > HEAD ? get(data + 24, 4) : 0, at = len > HEAD ? get(data + 28, 4) : 0;
	size_t bytes = len - HEAD, name;

	if (total < 2 || total > BODY_MAX || bytes > total || at > total - bytes) {
		if (!warned.exchange(true))
			tcpx_nixl_warn("damaged notifications, as from %s, are dropped (once)", sender);
		return;
	}
	std::lock_guard<std::mutex> guard(lock);
	auto j = find(sender, get(data + 8, 8), get(data + 16, 8), total);
	if (j->body.size() != total)
		return;
	memcpy(&j->body[at], data + HEAD, bytes);
	j->missing -= std::min(j->missing, bytes);
	if (j->missing)
		return;
	name = std::min<size_t>(get(j->body.data(), 2), total - 2);
	out.emplace_back(name ? j->body.substr(2, name) : j->sender, j->body.substr(2 + name));
	joining_bytes -= total;
	joining.erase(j);
}
