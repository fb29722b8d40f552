/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/pair_search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"

#define PATIENCE_LEAST_NS (250 * TCPX_MS) /* more than a round trip in a site, less than a SYN's repeat */
#define PATIENCE_MOST_NS  TCPX_SEC
#define ROUND_TRIPS       4

/* The knowledge of a pair. */
struct result {
	uint8_t fit;    /* 0: the two cannot reach each other */
	bool subnet;    /* on one                             */
	bool stands;
	int code;       /* of the newest attempt that failed; 0: none did */
	uint8_t users[2]; /* channels that receive, and that send */
};

struct tcpx_pair_search {
	uint32_t near_count, far_count;
	struct result at[]; /* near by near */
};

static struct result *
at(struct tcpx_pair_search *s, uint32_t near, uint32_t far)
{
	return &s->at[near * s->far_count + far];
}

static const struct result *
result_of(const struct tcpx_pair_search *s, uint32_t near, uint32_t far)
{
	return &s->at[near * s->far_count + far];
}

struct tcpx_pair_search *
tcpx_pair_search_new(const struct tcpx_pair_nic *near, uint32_t near_count,
		     const struct tcpx_pair_nic *far, uint32_t far_count)
{
	struct tcpx_pair_search *s =
		calloc(1, sizeof(*s) + (size_t)near_count * far_count * sizeof(s->at[0]));

	if (!s)
		return NULL;
	s->near_count = near_count;
	s->far_count = far_count;
	for (uint32_t i = 0; i < near_count; i++) {
		for (uint32_t j = 0; j < far_count; j++) {
			at(s, i, j)->fit = (uint8_t)tcpx_pair_fit(&near[i], &far[j]);
			at(s, i, j)->subnet = tcpx_pair_same_subnet(&near[i].addr, &far[j].addr);
			if (tcpx_addr_is_wild(&near[i].addr) || tcpx_addr_is_wild(&far[j].addr))
				at(s, i, j)->fit = 0; /* it has no address yet */
		}
	}
	return s;
}

void
tcpx_pair_search_join(struct tcpx_pair_search *s, struct tcpx_pair p, bool sending)
{
	at(s, p.near, p.far)->users[sending]++;
}

void
tcpx_pair_search_leave(struct tcpx_pair_search *s, struct tcpx_pair p, bool sending)
{
	at(s, p.near, p.far)->users[sending]--;
}

void
tcpx_pair_search_found(struct tcpx_pair_search *s, struct tcpx_pair p, int code)
{
	struct result *r = at(s, p.near, p.far);

	r->stands |= code == 0;
	r->code = r->stands ? 0 : code;
}

bool
tcpx_pair_search_failed(const struct tcpx_pair_search *s, struct tcpx_pair p)
{
	return result_of(s, p.near, p.far)->code != 0;
}

bool
tcpx_pair_search_stands(const struct tcpx_pair_search *s, struct tcpx_pair p)
{
	return result_of(s, p.near, p.far)->stands;
}

static bool
is_used(const struct result *r)
{
	return r->users[0] || r->users[1];
}

static bool
untried(const struct result *r)
{
	return r->fit && !r->stands && !r->code && !is_used(r);
}

static bool
near_stands(const struct tcpx_pair_search *s, uint32_t near)
{
	uint32_t j = 0;

	while (j < s->far_count && !result_of(s, near, j)->stands)
		j++;
	return j < s->far_count;
}

/* True: a channel of that direction uses a pair of the NIC that connects. */
static bool
near_carries(const struct tcpx_pair_search *s, uint32_t near, bool sending)
{
	uint32_t j = 0;

	while (j < s->far_count &&
	       !(result_of(s, near, j)->stands && result_of(s, near, j)->users[sending]))
		j++;
	return j < s->far_count;
}

/* True: the NIC has a pair, or may get one by an attempt that runs. */
static bool
far_served(const struct tcpx_pair_search *s, uint32_t far)
{
	for (uint32_t i = 0; i < s->near_count; i++) {
		const struct result *r = result_of(s, i, far);

		if (r->stands || (is_used(r) && !r->code))
			return true;
	}
	return false;
}

/* Another channel's attempt of it runs. */
static bool
under_way(const struct result *r)
{
	return r->fit && is_used(r) && !r->stands && !r->code;
}

/* The pair of @near that is best to try, of those that run if none is untried; far_count:
 * none. @subnet: on one alone. */
static uint32_t
try_of_near(const struct tcpx_pair_search *s, uint32_t near, bool subnet)
{
	uint32_t best = s->far_count;
	unsigned best_worth = 0, worth;

	for (uint32_t j = 0; j < s->far_count; j++) {
		const struct result *r = result_of(s, near, j);

		if (!(untried(r) || under_way(r)) || (subnet && !r->subnet))
			continue;
		worth = r->fit + (untried(r) ? 32 : 0) + (far_served(s, j) ? 0 : 16);
		if (worth > best_worth) {
			best = j;
			best_worth = worth;
		}
	}
	return best;
}

static uint32_t
try_of_far(const struct tcpx_pair_search *s, uint32_t far, bool subnet)
{
	uint32_t best = s->near_count;

	for (uint32_t i = 0; i < s->near_count; i++) {
		const struct result *r = result_of(s, i, far);

		if (untried(r) && (!subnet || r->subnet) &&
		    (best == s->near_count || r->fit > result_of(s, best, far)->fit))
			best = i;
	}
	return best;
}

/* The NIC's pair that connects and has the fewest channels of that direction. */
static uint32_t
share_of_near(const struct tcpx_pair_search *s, uint32_t near, bool sending)
{
	uint32_t best = s->far_count;

	for (uint32_t j = 0; j < s->far_count; j++) {
		const struct result *r = result_of(s, near, j);

		if (r->stands && (best == s->far_count ||
				  r->users[sending] < result_of(s, near, best)->users[sending]))
			best = j;
	}
	return best;
}

/* A NIC without a channel of that direction, as channels are fewer than pairs. */
static bool
lend_to_idle(const struct tcpx_pair_search *s, bool sending, struct tcpx_pair *next)
{
	for (uint32_t i = 0; i < s->near_count; i++) {
		uint32_t users = 0, far;

		for (uint32_t j = 0; j < s->far_count; j++)
			users += result_of(s, i, j)->users[sending];
		if (users)
			continue;
		far = near_stands(s, i) ? share_of_near(s, i, sending) : try_of_near(s, i, false);
		if (far == s->far_count)
			continue;
		*next = (struct tcpx_pair){ (uint16_t)i, (uint16_t)far };
		return true;
	}
	return false;
}

bool
tcpx_pair_search_next(const struct tcpx_pair_search *s, struct tcpx_pair failed, bool sending,
		      bool nothing, struct tcpx_pair *next)
{
	const struct result *was = result_of(s, failed.near, failed.far);
	bool subnet = was->subnet && !nothing, carries = near_carries(s, failed.near, sending);
	uint32_t near = s->near_count, far = s->far_count;

	if (!was->fit || !was->code)
		return false;
	if (!near_stands(s, failed.near)) {
		far = try_of_near(s, failed.near, subnet);
		if (far == s->far_count)
			return !subnet && lend_to_idle(s, sending, next);
	} else if (carries && !far_served(s, failed.far)) {
		near = try_of_far(s, failed.far, subnet);
	}
	if (near < s->near_count) {
		*next = (struct tcpx_pair){ (uint16_t)near, failed.far };
		return true;
	}
	if (far == s->far_count && carries && subnet)
		return false;
	if (far == s->far_count)
		far = share_of_near(s, failed.near, sending);
	*next = (struct tcpx_pair){ failed.near, (uint16_t)far };
	return true;
}

static const char *
words(int code)
{
	return code == -ETIMEDOUT ? "no answer" : code == -EADDRNOTAVAIL ? "no such address there" :
	       tcpx_err_text(code);
}

size_t
tcpx_pair_search_list(const struct tcpx_pair_search *s, uint32_t near, const struct tcpx_pair_nic *far,
		      char *text, size_t cap)
{
	size_t len = 0;

	if (cap)
		text[0] = '\0';
	for (uint32_t j = 0; j < s->far_count && len < cap; j++) {
		const struct result *r = result_of(s, near, j);
		char at[64];

		if (!r->code)
			continue;
		tcpx_addr_format(&far[j].addr, at, sizeof(at));
		len += (size_t)snprintf(text + len, cap - len, "%s%s %s: %s", len ? "; " : "", far[j].name,
					at, words(r->code));
	}
	return len < cap ? len : cap ? cap - 1 : 0;
}

uint64_t
tcpx_pair_patience_ns(uint64_t answer_ns)
{
	uint64_t ns = answer_ns < PATIENCE_MOST_NS ? answer_ns * ROUND_TRIPS : PATIENCE_MOST_NS;

	return ns < PATIENCE_LEAST_NS ? PATIENCE_LEAST_NS : ns > PATIENCE_MOST_NS ? PATIENCE_MOST_NS : ns;
}

enum tcpx_pair_verdict
tcpx_pair_judge(uint64_t since_ns, unsigned nth, bool stands, uint64_t patience_ns, uint64_t now_ns)
{
	if (now_ns < since_ns + patience_ns)
		return TCPX_PAIR_WAIT;
	return nth < 2 ? TCPX_PAIR_REPEAT : stands ? TCPX_PAIR_WAIT : TCPX_PAIR_SILENT;
}
