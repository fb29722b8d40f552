/* SPDX-License-Identifier: Apache-2.0 */
/* An engine's transfers and notifications. */
#include <cerrno>
#include <memory>

#include "nixl/engine.h"
#include "nixl/guard.h"
#include "nixl/region.h"

using namespace nixlabi;

namespace {

struct Transfer final : Request {
	explicit Transfer(tcpx_xfer *transfer) : x(transfer) {}
	~Transfer() override { tcpx_xfer_free(x); }
	tcpx_xfer *x;
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

/* NIXL's descriptors as ours, neighbours of one region as one. Returns their number. */
static size_t
merge(const MetaList &list, struct tcpx_desc *out)
{
	size_t n = 0;

	for (const MetaDesc &d : list.at) {
		auto region = static_cast<const TcpxNixlRegion *>(d.metadata);
		uint64_t offset = d.addr - region->base;

		if (n > 0 && out[n - 1].region == region->id &&
		    out[n - 1].offset + out[n - 1].len == offset)
			out[n - 1].len += d.len;
		else
			out[n++] = { region->id, offset, d.len };
	}
	return n;
}

static int
prepare_list(tcpx_engine *e, const MetaList &list, ListHolder &out)
{
	std::unique_ptr<tcpx_desc[]> room(new tcpx_desc[list.at.size()]);
	tcpx_list *made = nullptr;
	int rc = tcpx_list_prepare(e, room.get(), merge(list, room.get()), &made);

	out.reset(made);
	return rc;
}

/* ---- transfers ------------------------------------------------------------------- */

static int
prepare_with(tcpx_peer *peer, void *arg)
{
	auto p = static_cast<Preparation *>(arg);

	return tcpx_xfer_prepare(peer, p->op, p->local, p->remote, &p->x);
}

Status
TcpxNixlEngine::prepare(const Op &op, const MetaList &local, const MetaList &remote,
			const std::string &to, Request *&out, const PostArgs *) const
{
	return tcpx_nixl_guard("prepXfer", [&] {
		ListHolder mine, theirs;
		int rc = prepare_list(tcpx, local, mine);

		if (rc == 0)
			rc = prepare_list(tcpx, remote, theirs);
		if (rc)
			return rc;
		Preparation p = { op == READ ? TCPX_OP_READ : TCPX_OP_WRITE, mine.get(), theirs.get(),
				  nullptr };
		auto request = std::make_unique<Transfer>(nullptr);
		rc = with_peer(to, prepare_with, &p);
		request->x = p.x;
		if (rc == 0)
			out = request.release();
		return rc;
	});
}

/* The request has everything: NIXL names the lists once more, and they are the same. */
Status
TcpxNixlEngine::post(const Op &, const MetaList &, const MetaList &, const std::string &to,
		     Request *&request, const PostArgs *args) const
{
	return tcpx_nixl_guard("postXfer", [&] {
		auto t = static_cast<Transfer *>(request);
		const std::string *note = args && args->has_note ? &args->note : nullptr;
		std::string last;
		int rc = 0;

		if (note)
			rc = fit_note(to, note, last);
		if (rc == 0)
			rc = tcpx_xfer_post(t->x, note ? note->data() : nullptr,
					    note ? note->size() : 0);
		return rc ? rc : -EAGAIN;
	});
}

Status
TcpxNixlEngine::check(Request *request) const
{
	return tcpx_nixl_status(tcpx_test(static_cast<Transfer *>(request)->x));
}

/* Ends it first if it is in progress: no byte moves from or to its memory afterwards. */
Status
TcpxNixlEngine::release(Request *request) const
{
	delete static_cast<Transfer *>(request);
	return SUCCESS;
}

/* ---- notifications --------------------------------------------------------------- */

Status
TcpxNixlEngine::take_notifs(Notifs &out)
{
	return tcpx_nixl_guard("getNotifs", [&] {
		tcpx_note *taken;

		while (tcpx_note_get(tcpx, &taken) == 0) {
			std::unique_ptr<tcpx_note, void (*)(tcpx_note *)> note(taken, tcpx_note_free);
			size_t len;
			auto data = static_cast<const char *>(tcpx_note_data(taken, &len));

			notes.take(tcpx_note_sender(taken), data, len, out);
		}
		return 0;
	});
}

static int
notify_with(tcpx_peer *peer, void *arg)
{
	auto note = static_cast<const std::string *>(arg);

	return tcpx_notify(peer, note->data(), note->size());
}

int
TcpxNixlEngine::send_note(const std::string &to, const std::string &note) const
{
	return with_peer(to, notify_with, const_cast<std::string *>(&note));
}

/* A note that does not fit: sends all its parts but the last, and @note is that one, in @last. */
int
TcpxNixlEngine::fit_note(const std::string &to, const std::string *&note, std::string &last) const
{
	if (notes.fits(*note))
		return 0;
	std::vector<std::string> parts = notes.parts(*note);
	if (parts.empty())
		return -EINVAL;
	last.swap(parts.back());
	parts.pop_back();
	note = &last;
	for (const std::string &part : parts) {
		int rc = send_note(to, part);
		if (rc)
			return rc;
	}
	return 0;
}

Status
TcpxNixlEngine::notify(const std::string &to, const std::string &text) const
{
	return tcpx_nixl_guard("genNotif", [&] {
		const std::string *note = &text;
		std::string last;
		int rc = fit_note(to, note, last);

		return rc ? rc : send_note(to, *note);
	});
}
