/* SPDX-License-Identifier: Apache-2.0 */
/* An engine's transfers. */
#include <algorithm>
#include <cerrno>
#include <memory>

#include "nixl/engine.h"
#include "nixl/guard.h"
#include "nixl/region.h"

using namespace nixlabi;

namespace {

/* A note of several parts is begun when all bytes are there, by the call that finds them; its rest
 * may wait for room. A shorter one travels with the transfer. */
enum class Note { NONE, OWED, BEGUN };

struct Transfer final : Request {
	~Transfer() override { tcpx_xfer_free(x); }
	tcpx_xfer *x = nullptr; /* NULL: there is nothing to move */
	std::string peer;
	std::string note;
	Note state = Note::NONE;
};

struct ListFree {
	void operator()(tcpx_list *list) const { tcpx_list_free(list); }
};
using ListHolder = std::unique_ptr<tcpx_list, ListFree>;

struct Preparation {
	enum tcpx_op op;
	tcpx_list *local, *remote;
	tcpx_xfer *x;
};

} /* namespace */

/* ---- lists ----------------------------------------------------------------------- */

/* NIXL's descriptors as ours, neighbours of one region as one, without those of empty regions.
 * Returns their number. */
static size_t
merge(const MetaList &list, struct tcpx_desc *out)
{
	size_t n = 0;

	for (const MetaDesc &d : list.at) {
		auto region = static_cast<const TcpxNixlRegion *>(d.metadata);
		uint64_t offset = d.addr - region->base;

		if (region->is_empty() && d.len == 0)
			continue;
		if (n > 0 && out[n - 1].region == region->id &&
		    out[n - 1].offset + out[n - 1].len == offset)
			out[n - 1].len += d.len;
		else
			out[n++] = { region->id, offset, d.len };
	}
	return n;
}

/* NULL: it has nothing but empty regions. */
static int
prepare_list(tcpx_engine *e, const MetaList &list, ListHolder &out)
{
	std::unique_ptr<tcpx_desc[]> room(new tcpx_desc[list.at.size()]);
	size_t n = merge(list, room.get());
	tcpx_list *made = nullptr;
	int rc = n ? tcpx_list_prepare(e, room.get(), n, &made) : 0;

	out.reset(made);
	return rc;
}

/* ---- transfers ------------------------------------------------------------------- */

static bool
has_bytes(const MetaList &list)
{
	return std::any_of(list.at.begin(), list.at.end(),
			   [](const MetaDesc &d) { return d.len > 0; });
}

static int
prepare_with(tcpx_peer *peer, void *arg)
{
	auto p = static_cast<Preparation *>(arg);

	if (!p->local || !p->remote)
		return 0;
	return tcpx_xfer_prepare(peer, p->op, p->local, p->remote, &p->x);
}

/* NULL: there is nothing to move. */
int
TcpxNixlEngine::make(const Op &op, const MetaList &local, const MetaList &remote,
		     const std::string &to, tcpx_xfer **out) const
{
	ListHolder mine, theirs;
	int rc = prepare_list(tcpx, local, mine);

	if (rc == 0)
		rc = prepare_list(tcpx, remote, theirs);
	if (rc == 0 && (!mine || !theirs) && (has_bytes(local) || has_bytes(remote)))
		rc = -EINVAL;
	if (rc)
		return rc;
	Preparation p = { op == READ ? TCPX_OP_READ : TCPX_OP_WRITE, mine.get(), theirs.get(),
			  nullptr };
	rc = with_peer(to, prepare_with, &p);
	*out = p.x;
	return rc;
}

Status
TcpxNixlEngine::prepare(const Op &op, const MetaList &local, const MetaList &remote,
			const std::string &to, Request *&out, const PostArgs *) const
{
	return tcpx_nixl_guard("prepXfer", [&] {
		auto request = std::make_unique<Transfer>();
		int rc = make(op, local, remote, to, &request->x);

		request->peer = to;
		if (rc == 0)
			out = request.release();
		return rc;
	});
}

/* The code of its end; -EAGAIN: not yet. The next call tries a note again that found no room. */
int
TcpxNixlEngine::settle(Request *request) const
{
	auto t = static_cast<Transfer *>(request);
	int rc = t->x ? tcpx_test(t->x) : 0;

	if (rc == -EAGAIN)
		return rc;
	if (rc == 0 && t->state == Note::OWED) {
		rc = send_text(t->peer, t->note);
		if (rc == TCPX_ELIMIT)
			return -EAGAIN;
		t->state = Note::BEGUN;
	}
	if (rc == 0 && t->state == Note::BEGUN && a_rest_waits_for(t->peer))
		return -EAGAIN;
	t->state = Note::NONE;
	return rc;
}

static int
start(tcpx_xfer *x, const std::string *note)
{
	int rc = tcpx_xfer_post(x, note ? note->data() : nullptr, note ? note->size() : 0);

	if (rc != TCPX_ESTATE)
		return rc;
	if (tcpx_test(x) == -EAGAIN)
		return -EALREADY;
	tcpx_nixl_warn("postXfer: the agent is of the process that forked this one: make one here");
	return rc;
}

/* NIXL names the lists once more, and they are the same: so a request whose peer did not answer in
 * time is made again, and that peer tried again. */
Status
TcpxNixlEngine::post(const Op &op, const MetaList &local, const MetaList &remote,
		     const std::string &to, Request *&request, const PostArgs *args) const
{
	return tcpx_nixl_guard("postXfer", [&] {
		auto t = static_cast<Transfer *>(request);
		const std::string *note = args && args->has_note ? &args->note : nullptr;
		const std::string *with = note;
		std::string part;
		int rc = t->state != Note::NONE && settle(t) == -EAGAIN ? -EALREADY : 0;

		if (rc == 0 && note && !notes.fits(*note))
			rc = pack(*note, with, part);
		if (rc == 0 && t->x)
			rc = start(t->x, with);
		if (rc == TCPX_ETIMEDOUT) {
			Transfer fresh;

			rc = make(op, local, remote, to, &fresh.x);
			if (rc == 0) {
				std::swap(t->x, fresh.x);
				rc = start(t->x, with);
			}
		}
		if (rc)
			return rc;
		t->state = note && !(t->x && with) ? Note::OWED : Note::NONE;
		if (t->state == Note::OWED)
			t->note = *note;
		return t->x ? -EAGAIN : settle(t);
	});
}

int
TcpxNixlEngine::status_of(tcpx_peer *peer, void *)
{
	struct tcpx_peer_info info = {};

	info.struct_size = sizeof(info);
	int rc = tcpx_peer_query(peer, &info);
	return rc ? rc : info.status;
}

/* Reports a stuck request whose session lives as an error of its own: its peer is not lost. */
Status
TcpxNixlEngine::check(Request *request) const
{
	return tcpx_nixl_guard("checkXfer", [&] {
		auto t = static_cast<Transfer *>(request);

		send_rests();
		int rc = settle(t);
		if (rc == TCPX_ESTALLED && with_peer(t->peer, status_of, nullptr) == 0)
			return -EIO;
		return rc;
	});
}

/* Ends it first if it is in progress: no byte moves from or to its memory afterwards. */
Status
TcpxNixlEngine::release(Request *request) const
{
	delete static_cast<Transfer *>(request);
	return SUCCESS;
}
