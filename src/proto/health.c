/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/health.h"

#define CLOSED_NS   500000000ull /* a process that ends closes its connections itself */
#define TOGETHER_NS 100000000ull

bool
tcpx_ended_together(uint64_t closed_ns, uint64_t cut_ns)
{
	uint64_t apart_ns = closed_ns > cut_ns ? closed_ns - cut_ns : cut_ns - closed_ns;

	return closed_ns && apart_ns <= TOGETHER_NS;
}

uint64_t
tcpx_rounds_apart(bool closed, uint64_t stall_ns)
{
	return closed || stall_ns / 4 < CLOSED_NS ? CLOSED_NS : stall_ns / 4;
}

bool
tcpx_refused_again(struct tcpx_refusals *r, uint32_t addresses, uint64_t apart_ns, bool ours_down,
		   uint64_t now_ns)
{
	if (ours_down) {
		r->row = 0;
		return false;
	}
	if (r->row < addresses) {
		r->row++;
		r->round_ns = now_ns;
		return false;
	}
	if (now_ns < r->round_ns + apart_ns)
		return false;
	return ++r->row >= 2 * addresses;
}

struct tcpx_patience
tcpx_patience_of(uint64_t stall_ns, uint64_t keepalive_ns, uint64_t process_ns)
{
	uint64_t look_ns = stall_ns / 24;

	return (struct tcpx_patience){ .idle_ns = keepalive_ns,
				       .look_ns = look_ns < keepalive_ns ? look_ns : keepalive_ns,
				       .process_ns = process_ns };
}

static bool
is_asked(const struct tcpx_silence *s)
{
	return s->asked_ns > s->heard_ns;
}

bool
tcpx_silence_is_long(const struct tcpx_patience *p, const struct tcpx_silence *s, uint64_t now_ns)
{
	return is_asked(s) && now_ns >= s->asked_ns + 2 * p->look_ns;
}

enum tcpx_silence_verdict
tcpx_silence_judge(const struct tcpx_patience *p, const struct tcpx_silence *s, int kernel,
		   uint64_t now_ns)
{
	uint64_t every_ns = s->in_use ? p->look_ns : p->idle_ns;
	bool ask = now_ns >= s->heard_ns + every_ns &&
		   (!is_asked(s) || now_ns >= s->pinged_ns + p->look_ns);

	if (!tcpx_silence_is_long(p, s, now_ns))
		return ask ? TCPX_SILENCE_ASK : TCPX_SILENCE_NONE;
	if (kernel == 0 || (kernel < 0 && now_ns >= s->asked_ns + 5 * p->look_ns))
		return TCPX_SILENCE_CUT;
	if (kernel > 0 && now_ns - s->heard_ns >= p->process_ns)
		return TCPX_SILENCE_OVER;
	return !ask ? TCPX_SILENCE_NONE : kernel > 0 ? TCPX_SILENCE_STOPPED : TCPX_SILENCE_ASK;
}

uint64_t
tcpx_silence_next(const struct tcpx_patience *p, const struct tcpx_silence *s, uint64_t now_ns)
{
	uint64_t due_ns = is_asked(s) ? s->asked_ns + 2 * p->look_ns :
					s->heard_ns + (s->in_use ? p->look_ns : p->idle_ns);
	bool looks = s->in_use || is_asked(s);

	return due_ns > now_ns && (!looks || due_ns < now_ns + p->look_ns) ? due_ns : now_ns + p->look_ns;
}

enum tcpx_stall
tcpx_stall_judge(const struct tcpx_stall_facts *f, uint64_t limit_ns, uint64_t now_ns)
{
	if (now_ns < f->own_ns + limit_ns || now_ns < f->short_ns + limit_ns)
		return TCPX_STALL_NONE;
	if (now_ns >= f->way_ns + limit_ns)
		return TCPX_STALL_SESSION;
	if (f->owed || (f->held_ns && now_ns >= f->held_ns + limit_ns))
		return TCPX_STALL_XFER;
	return TCPX_STALL_NONE;
}
