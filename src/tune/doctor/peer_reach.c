/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/doctor/peer_reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/ownfd.h"
#include "net/sock/fd.h"
#include "net/sock/sock.h"
#include "tool/reach.h"
#include "tool/tool.h"
#include "tune/doctor/peer_ask.h"
#include "tune/doctor/peer_connect.h"
#include "tune/doctor/peer_session.h"
#include "tune/doctor/peer_size.h"

#define BATCH 16 /* pairs at the same time; each has two connections or one for each direction */

struct look {
	const struct machine *m;
	struct reach *r;
	struct tcpx_nic nic[TCPX_HOST_NICS]; /* of m->nics, as the engine has them      */
	struct tcpx_net net;                 /* the engine's ports, for the way back    */
	const char *congestion;
	int listen[TCPX_HOST_NICS];          /* for the way back; -1: none              */
	uint16_t port[TCPX_HOST_NICS];       /* of it                                   */
	uint64_t token;
};

static void
look_init(struct look *l, const struct machine *m, struct reach *r)
{
	uint64_t ports = m->cfg ? tcpx_cfg_num(m->cfg, TCPX_SET_PORTS) : 0;

	*l = (struct look){ .m = m, .r = r };
	l->congestion = m->cfg ? tcpx_cfg_str(m->cfg, TCPX_SET_CONGESTION) : "";
	l->net = (struct tcpx_net){ .port_first = (uint16_t)(ports >> 16),
				    .port_last = (uint16_t)ports };
	if (getrandom(&l->token, sizeof(l->token), 0) != sizeof(l->token))
		l->token = tcpx_clock_now(&tcpx_clock_system);
	l->token >>= 1; /* as JSON has it */
	for (unsigned n = 0; n < m->nic_count; n++) {
		struct tcpx_addr bound = { 0 };

		attempt_nic(&m->nics[n], &l->nic[n]);
		if (tcpx_sock_listen_fd(&l->net, &l->nic[n], &l->nic[n].addr, &bound, &l->listen[n]))
			l->listen[n] = -1;
		l->port[n] = bound.port;
	}
}

/* ---- which pairs ---- */

static void
add_far(struct reach *r, const struct tcpx_addr *addr, uint16_t control)
{
	struct reach_far *f = &r->far[r->far_count];

	if (r->far_count == TCPX_HOST_NICS)
		return;
	f->addr = *addr;
	f->control = control;
	tcpx_addr_format(addr, f->text, sizeof(f->text));
	tcpx_host_addr_format(addr, f->host, sizeof(f->host));
	r->far_count++;
}

/* The loopback is a network of its own. */
static bool
may_meet(const struct tcpx_addr *own, const struct tcpx_addr *far)
{
	return own->family == far->family &&
	       tcpx_addr_is_loopback(own) == tcpx_addr_is_loopback(far);
}

static bool
in_subnet(const struct tcpx_addr *own, const struct tcpx_addr *far)
{
	struct tcpx_addr there = *far;

	there.prefix = own->prefix;
	return own->prefix && tcpx_host_addr_same_subnet(own, &there);
}

/* A NIC meets those of its subnet, or any where its subnet has none. */
static void
add_pairs(const struct machine *m, struct reach *r, unsigned nic)
{
	const struct tcpx_addr *own = &m->nics[nic].addr;
	bool shared = false;

	for (unsigned f = 0; f < r->far_count; f++)
		shared |= may_meet(own, &r->far[f].addr) && in_subnet(own, &r->far[f].addr);
	for (unsigned f = 0; f < r->far_count; f++) {
		if (!may_meet(own, &r->far[f].addr) || (shared && !in_subnet(own, &r->far[f].addr)))
			continue;
		if (r->pair_count == REACH_PAIRS)
			r->left_out++;
		else
			r->pair[r->pair_count++] = (struct reach_pair){
				.nic = nic, .far = f, .subnet = shared, .data = EINPROGRESS,
				.path = EINPROGRESS };
	}
}

/* ---- trying them ---- */

static void
try_control(struct reach *r)
{
	struct attempt a[PEERS_MAX];

	for (unsigned i = 0; i < r->peer_count; i++) {
		struct tcpx_addr to = r->peer[i].addr;

		to.port = r->peer[i].port;
		attempt_start(NULL, &to, &a[i]);
	}
	attempts_finish(a, r->peer_count);
	for (unsigned i = 0; i < r->peer_count; i++)
		r->control[i] = a[i].error;
	attempts_close(a, r->peer_count);
}

/* The question about the way back, on each connection that stands. */
static void
try_back(struct look *l, struct attempt *a, struct reach_pair *pair, unsigned count)
{
	struct peer_ask ask[BATCH];
	struct reach_answer answer;
	uint64_t end = peer_ask_end(2 * REACH_TRY_MS);

	for (unsigned i = 0; i < count; i++) {
		ask[i] = (struct peer_ask){ .token = l->token, .port = l->port[pair[i].nic] };
		if (!a[i].error && tcpx_sock_tune(a[i].fd, l->congestion))
			a[i].error = EINVAL;
		if (!a[i].error)
			(void)peer_ask_send(a[i].fd, &ask[i], end);
	}
	for (unsigned i = 0; i < count; i++) {
		if (a[i].error || !peer_ask_hear(a[i].fd, &ask[i], &answer, end))
			continue;
		pair[i].back = answer.back;
		memcpy(pair[i].tried, answer.to, sizeof(answer.to));
		pair[i].in.full = ntohl(answer.full);
		pair[i].far_mtu = ntohl(answer.mtu);
	}
}

/* Tries the control port, if the data port does not answer: there may be no way at all. */
static void
start_path(const struct look *l, const struct reach_pair *p, struct attempt *a)
{
	struct tcpx_addr to = l->r->far[p->far].addr;

	to.port = l->r->far[p->far].control;
	attempt_start(&l->nic[p->nic], &to, a);
}

static void
try_data(struct look *l, struct reach_pair *pair, unsigned count)
{
	struct attempt all[2 * BATCH], *a = all, *path = all + count;
	struct size_try full[BATCH];
	unsigned answered = 0;

	for (unsigned i = 0; i < count; i++) {
		attempt_start(&l->nic[pair[i].nic], &l->r->far[pair[i].far].addr, &a[i]);
		start_path(l, &pair[i], &path[i]);
	}
	attempts_finish(all, 2 * count);
	for (unsigned i = 0; i < count; i++) {
		pair[i].data = a[i].error;
		pair[i].path = a[i].error && a[i].error != ECONNREFUSED ? path[i].error : a[i].error;
	}
	try_back(l, a, pair, count);
	for (unsigned i = 0; i < count; i++)
		if (!a[i].error && pair[i].in.full)
			full[answered++] = (struct size_try){ &pair[i], &l->nic[pair[i].nic],
							      &l->r->far[pair[i].far].addr, a[i].fd };
	peer_sizes(full, answered, l->token, l->congestion);
	attempts_close(all, 2 * count);
}

/* Tries the control port from each NIC: nobody says which ports there are for data. */
static void
try_paths(struct look *l)
{
	struct reach *r = l->r;
	struct attempt *a = tool_need(calloc(REACH_PAIRS, sizeof(*a)));

	for (unsigned i = 0; i < r->peer_count; i++)
		add_far(r, &r->peer[i].addr, r->peer[i].port);
	for (unsigned n = 0; n < l->m->nic_count; n++)
		add_pairs(l->m, r, n);
	for (unsigned i = 0; i < r->pair_count; i++)
		start_path(l, &r->pair[i], &a[i]);
	attempts_finish(a, r->pair_count);
	for (unsigned i = 0; i < r->pair_count; i++)
		r->pair[i].path = a[i].error;
	attempts_close(a, r->pair_count);
	free(a);
}

/* Data connections to the NICs that the server there names; they have one port for control,
 * if it was free. */
static void
try_session(struct look *l, struct peer_session *s, uint16_t control)
{
	struct reach *r = l->r;
	json_t *nics = peer_session_ask(s, l->token, r->not_tried, sizeof(r->not_tried)), *nic;
	struct tcpx_addr addr;
	size_t i;

	json_array_foreach(nics, i, nic) {
		const char *text = json_string_value(json_object_get(nic, "addr"));

		if (text && tcpx_addr_parse(text, &addr) == 0)
			add_far(r, &addr, control);
	}
	if (!nics)
		return;
	json_decref(nics);
	for (unsigned n = 0; n < l->m->nic_count; n++)
		add_pairs(l->m, r, n);
	for (unsigned k = 0; k < r->pair_count; k += BATCH)
		try_data(l, &r->pair[k], r->pair_count - k < BATCH ? r->pair_count - k : BATCH);
	if (!r->pair_count)
		snprintf(r->not_tried, sizeof(r->not_tried), "no NIC of the peer has an address of a "
			 "family that ours have");
}

void
peer_reach(const struct machine *m, struct reach *r)
{
	const struct peer_addr *first = NULL;
	struct peer_session s;
	struct look l;

	r->done = true;
	look_init(&l, m, r);
	try_control(r);
	for (unsigned i = r->peer_count; i-- > 0;)
		if (r->control[i] == 0)
			first = &r->peer[i];
	if (!first) {
		snprintf(r->not_tried, sizeof(r->not_tried), "no control port of the peer is open");
	} else if (peer_session_open(m, first, &s, r->not_tried, sizeof(r->not_tried))) {
		try_session(&l, &s, first->port);
		peer_session_close(m, &s);
	} else {
		memcpy(r->silent, s.port_text, sizeof(r->silent));
	}
	if (!r->far_count)
		try_paths(&l);
	for (unsigned n = 0; n < m->nic_count; n++)
		if (l.listen[n] >= 0)
			tcpx_ownfd_close(l.listen[n]);
}
