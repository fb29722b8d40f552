/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipe's messages are two-sided transfers whose tag is the pipe's number and the message's. The
 * sender connects, and sends a note that says which listener it means and its pipe's number.
 */
#include "nccl/pipe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/hub.h"
#include "nccl/say.h"

#define TICKET_MAGIC 0x31505854u /* "TXP1" */
#define HELLO_MAGIC  0x31485854u /* "TXH1" */
#define REFUSALS     4           /* before a peer is given up                        */
#define PLACE_BYTES  160         /* NAME@ADDRESS:PORT                                */

/* Both in the byte order of x86 and ARM, as the rest of a NCCL job's. */
struct ticket {
	uint32_t magic;
	uint16_t port, zero;
	uint64_t key, listen;
	char name[HUB_NAME_BYTES];
	char addrs[HUB_ADDRS_BYTES];
};

struct hello {
	uint32_t magic, pipe;
	uint64_t key, listen;
};

_Static_assert(sizeof(struct ticket) == PIPE_TICKET_BYTES, "a ticket fills its room");

/* A pipe that has arrived and was not accepted. */
struct arrival {
	struct arrival *next;
	tcpx_peer *peer;
	uint32_t number;
};

struct pipe_listen {
	struct hub *hub;
	uint64_t number;
	struct pipe_listen *next;
	struct arrival *first; /* in order; guarded by hub->lock                     */
};

struct pipe {
	struct hub *hub;
	tcpx_peer *peer;
	char who[TCPX_NAME_MAX];
	uint32_t number;    /* the sender's                                          */
	uint32_t next;      /* message                                               */
	bool sends, ready;
	struct ticket to;   /* of a sender                                           */
	size_t at;          /* in to.addrs: the address that is tried next           */
	unsigned refused;   /* times in a row                                        */
};

/* ---- arriving -------------------------------------------------------------------- */

int
tcpx_nccl_pipe_listen(struct hub *h, uint8_t ticket[PIPE_TICKET_BYTES], struct pipe_listen **out)
{
	struct pipe_listen *l = calloc(1, sizeof(*l));
	struct ticket t = { .magic = TICKET_MAGIC, .port = h->port, .key = h->key };

	if (!l)
		return -ENOMEM;
	l->hub = h;
	pthread_mutex_lock(&h->lock);
	l->number = ++h->listens;
	l->next = h->first;
	h->first = l;
	pthread_mutex_unlock(&h->lock);
	t.listen = l->number;
	memcpy(t.name, h->name, sizeof(t.name));
	memcpy(t.addrs, h->addrs, sizeof(t.addrs));
	memcpy(ticket, &t, sizeof(t));
	*out = l;
	return 0;
}

/* Takes over the handle. */
static void
arrive(struct hub *h, const struct hello *hello, tcpx_peer *peer)
{
	struct pipe_listen *l = h->first;
	struct arrival **end, *a;

	while (l && l->number != hello->listen)
		l = l->next;
	a = l ? calloc(1, sizeof(*a)) : NULL;
	if (!a) {
		tcpx_peer_free(peer); /* its listener is closed */
		return;
	}
	a->peer = peer;
	a->number = hello->pipe;
	for (end = &l->first; *end; end = &(*end)->next)
		;
	*end = a;
}

/* Gives each note to its listener. hub->lock held. */
static void
sort_notes(struct hub *h)
{
	struct hello hello;
	tcpx_note *note;
	tcpx_peer *peer;
	size_t len;

	while (tcpx_note_get(h->engine, &note) == 0) {
		const void *data = tcpx_note_data(note, &len);

		if (len == sizeof(hello)) {
			memcpy(&hello, data, len);
			if (hello.magic == HELLO_MAGIC && hello.key == h->key &&
			    tcpx_note_peer(h->engine, note, &peer) == 0)
				arrive(h, &hello, peer);
		}
		tcpx_note_free(note);
	}
}

static void
name_peer(struct pipe *p)
{
	struct tcpx_peer_info info = TCPX_PEER_INFO_INIT;

	if (tcpx_peer_query(p->peer, &info) == 0)
		snprintf(p->who, sizeof(p->who), "%s", info.name);
}

int
tcpx_nccl_pipe_accept(struct pipe_listen *l, struct pipe **out)
{
	struct arrival *a;
	struct pipe *p;

	pthread_mutex_lock(&l->hub->lock);
	sort_notes(l->hub);
	a = l->first;
	if (a)
		l->first = a->next;
	pthread_mutex_unlock(&l->hub->lock);
	if (!a)
		return -EAGAIN;
	p = calloc(1, sizeof(*p));
	if (p) {
		p->hub = l->hub;
		p->peer = a->peer;
		p->number = a->number;
		p->ready = true;
		name_peer(p);
	} else {
		tcpx_peer_free(a->peer);
	}
	free(a);
	*out = p;
	return p ? 0 : -ENOMEM;
}

void
tcpx_nccl_pipe_listen_close(struct pipe_listen *l)
{
	struct pipe_listen **at;
	struct arrival *a;

	pthread_mutex_lock(&l->hub->lock);
	for (at = &l->hub->first; *at != l; at = &(*at)->next)
		;
	*at = l->next;
	pthread_mutex_unlock(&l->hub->lock);
	while ((a = l->first)) {
		l->first = a->next;
		tcpx_peer_free(a->peer);
		free(a);
	}
	free(l);
}

/* ---- connecting ------------------------------------------------------------------ */

/* "NAME@ADDRESS:PORT" of the next address. False: there are no more. */
static bool
next_place(struct pipe *p, char place[PLACE_BYTES])
{
	const char *addr = p->to.addrs + p->at;
	int len = (int)strcspn(addr, ",");
	bool six = memchr(addr, ':', (size_t)len) != NULL;

	if (len == 0)
		return false;
	p->at += (size_t)len + (addr[len] == ',');
	snprintf(place, PLACE_BYTES, "%s@%s%.*s%s:%u", p->to.name, six ? "[" : "", len, addr,
		 six ? "]" : "", (unsigned)p->to.port);
	return true;
}

/* By its next address. An older session by that address serves. */
static int
dial(struct pipe *p)
{
	char place[PLACE_BYTES];

	tcpx_peer_free(p->peer);
	p->peer = NULL;
	if (!next_place(p, place))
		return TCPX_EPEERGONE;
	return tcpx_peer_connect(p->hub->engine, place, &p->peer);
}

int
tcpx_nccl_pipe_connect(struct hub *h, const uint8_t ticket[PIPE_TICKET_BYTES], struct pipe **out)
{
	struct pipe *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	p->hub = h;
	p->sends = true;
	p->number = atomic_fetch_add(&h->pipes, 1);
	memcpy(&p->to, ticket, sizeof(p->to));
	p->to.name[sizeof(p->to.name) - 1] = p->to.addrs[sizeof(p->to.addrs) - 1] = '\0';
	snprintf(p->who, sizeof(p->who), "%s", p->to.name);
	rc = p->to.magic == TICKET_MAGIC ? dial(p) : -EINVAL;
	if (rc) {
		tcpx_nccl_pipe_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

static int
greet(struct pipe *p)
{
	struct hello hello = { HELLO_MAGIC, p->number, p->to.key, p->to.listen };

	return tcpx_notify(p->peer, &hello, sizeof(hello));
}

/* By another address; or by the first, because a session of ours that is half made makes the peer
 * refuse a second one. Silence was waited for long enough. */
static bool
again(struct pipe *p, int rc)
{
	if (!p->to.addrs[p->at] && rc != TCPX_ETIMEDOUT && ++p->refused < REFUSALS)
		p->at = 0;
	return p->to.addrs[p->at] && dial(p) == 0;
}

int
tcpx_nccl_pipe_ready(struct pipe *p)
{
	int rc;

	if (p->ready)
		return 0;
	rc = tcpx_peer_wait(p->peer, 0);
	if (rc == 0)
		rc = greet(p);
	if (rc == 0)
		p->ready = true;
	if (rc == 0 || rc == -EAGAIN)
		return rc;
	return again(p, rc) ? -EAGAIN : rc;
}

/* ---- messages -------------------------------------------------------------------- */

int
tcpx_nccl_pipe_post(struct pipe *p, uint64_t region, uint64_t offset, uint64_t len,
		    tcpx_xfer **message)
{
	struct tcpx_desc piece = { region, offset, len };
	uint64_t tag = (uint64_t)p->number << 32 | p->next;
	int rc = p->sends ? tcpx_send(p->peer, &piece, 1, tag, message) :
			    tcpx_recv(p->peer, &piece, 1, tag, message);

	if (rc == 0)
		p->next++;
	return rc;
}

int
tcpx_nccl_pipe_test(struct pipe *p, tcpx_xfer *message, uint64_t *len, char *why)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	int rc = tcpx_test(message);

	if (rc == -EAGAIN)
		return rc;
	if (rc || !p->sends)
		(void)tcpx_xfer_query(message, &info);
	if (rc)
		snprintf(why, PIPE_WHY_BYTES, "%s", info.cause[0] ? info.cause : tcpx_strerror(rc));
	if (!p->sends)
		*len = info.bytes_total;
	tcpx_xfer_free(message);
	return rc;
}

void
tcpx_nccl_pipe_drop(tcpx_xfer *message)
{
	tcpx_xfer_free(message);
}

void
tcpx_nccl_pipe_close(struct pipe *p)
{
	tcpx_peer_free(p->peer);
	free(p);
}

bool
tcpx_nccl_pipe_sends(const struct pipe *p)
{
	return p->sends;
}

const char *
tcpx_nccl_pipe_peer(const struct pipe *p)
{
	return p->who;
}
