/* SPDX-License-Identifier: Apache-2.0 */
/* An engine's notifications. */
#include <cerrno>
#include <chrono>

#include "nixl/engine.h"
#include "nixl/guard.h"

using namespace nixlabi;

namespace {

/* Bounds of one call of getNotifs(), which so returns within a few milliseconds. */
constexpr size_t SHARE_NOTES = 1024, SHARE_BYTES = 1u << 20;
constexpr uint64_t RETRY_MS = 20;

uint64_t
now_ms()
{
	return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
		std::chrono::steady_clock::now().time_since_epoch()).count());
}

int
notify_with(tcpx_peer *peer, void *arg)
{
	auto note = static_cast<const std::string *>(arg);

	return tcpx_notify(peer, note->data(), note->size());
}

} /* namespace */

/* ---- sending --------------------------------------------------------------------- */

int
TcpxNixlEngine::send_note(const std::string &to, const std::string &note) const
{
	return with_peer(to, notify_with, const_cast<std::string *>(&note));
}

/* TCPX_ELIMIT: the next one found no room. rests_lock */
int
TcpxNixlEngine::go_on(const std::string &to, TcpxNixlNotes::Parts &rest) const
{
	for (; !rest.is_done(); rest.step()) {
		int rc = send_note(to, rest.first());
		if (rc)
			return rc;
	}
	return 0;
}

/* A notification that has begun is never refused: its rest goes as soon as there is room, in later
 * calls. The next is refused until then, and sends nothing. */
int
TcpxNixlEngine::send_parts(const std::string &to, const std::string &text) const
{
	std::lock_guard<std::mutex> guard(rests_lock);
	auto before = rests.find(to);

	if (before != rests.end()) {
		if (go_on(to, before->second) == TCPX_ELIMIT)
			return TCPX_ELIMIT;
		rests.erase(before);
	}
	TcpxNixlNotes::Parts rest = notes.split(text);
	int rc = go_on(to, rest);
	if (rc != TCPX_ELIMIT || rest.at == 0)
		return rc;
	rests[to] = std::move(rest);
	rests_wait = true;
	return 0;
}

bool
TcpxNixlEngine::a_rest_waits_for(const std::string &to) const
{
	std::lock_guard<std::mutex> guard(rests_lock);

	return rests.count(to) != 0;
}

void
TcpxNixlEngine::send_rests() const
{
	if (!rests_wait)
		return;
	std::lock_guard<std::mutex> guard(rests_lock);
	if (now_ms() < rests_tried_ms + RETRY_MS)
		return;
	rests_tried_ms = now_ms();
	for (auto at = rests.begin(); at != rests.end();)
		at = go_on(at->first, at->second) == TCPX_ELIMIT ? std::next(at) : rests.erase(at);
	rests_wait = !rests.empty();
}

/* The note that travels with a transfer: @with, which @part may hold. NULL: there are several. */
int
TcpxNixlEngine::pack(const std::string &text, const std::string *&with, std::string &part) const
{
	size_t count = notes.count(text);

	if (count == 0)
		return -EINVAL;
	if (count == 1)
		part = notes.split(text).first();
	with = count == 1 ? &part : nullptr;
	return 0;
}

int
TcpxNixlEngine::send_text(const std::string &to, const std::string &text) const
{
	const std::string *note = &text;
	std::string part;
	int rc = notes.fits(text) ? 0 : pack(text, note, part);

	if (rc)
		return rc;
	return note ? send_note(to, *note) : send_parts(to, text);
}

Status
TcpxNixlEngine::notify(const std::string &to, const std::string &text) const
{
	return tcpx_nixl_guard("genNotif", [&] {
		send_rests();
		return send_text(to, text);
	});
}

/* ---- taking ---------------------------------------------------------------------- */

/* Returns the bytes that had to be moved for it. */
size_t
TcpxNixlEngine::take_note(tcpx_note *taken, Notifs &out)
{
	std::unique_ptr<tcpx_note, void (*)(tcpx_note *)> note(taken, tcpx_note_free);
	TcpxNixlNotes::Peer from(nullptr, tcpx_peer_free);
	size_t len, whole = out.size();
	auto data = static_cast<const char *>(tcpx_note_data(taken, &len));
	tcpx_peer *peer;

	if (TcpxNixlNotes::is_one_of_several(data, len) && tcpx_note_peer(tcpx, taken, &peer) == 0)
		from.reset(peer);
	notes.take(std::move(from), tcpx_note_sender(taken), data, len, now_ms(), out);
	return len + (out.size() > whole ? out.back().second.size() : 0);
}

Status
TcpxNixlEngine::take_notifs(Notifs &out)
{
	return tcpx_nixl_guard("getNotifs", [&] {
		std::lock_guard<std::mutex> guard(taking);
		size_t bytes = 0;

		send_rests();
		for (size_t i = 0; i < SHARE_NOTES && bytes < SHARE_BYTES; i++) {
			tcpx_note *taken;
			int rc = tcpx_note_get(tcpx, &taken);

			if (rc == 0) {
				bytes += take_note(taken, out);
				continue;
			}
			if (notes.joins())
				notes.expire(now_ms(), [](tcpx_peer *p) { return status_of(p, nullptr) != 0; });
			return rc == -EAGAIN ? 0 : rc;
		}
		return 0;
	});
}
