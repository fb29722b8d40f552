/* SPDX-License-Identifier: Apache-2.0 */
/* A pipe is a lane of the library, whose key travels in the ticket, and the way to its peer. */
#include "nccl/pipe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/hub.h"

#define TICKET_MAGIC 0x32505854u /* "TXP2" */
#define PLACE_BYTES  512         /* NAME@ADDRESS:PORT,...                            */

/* In the byte order of x86 and ARM, as the rest of a NCCL job's. */
struct ticket {
	uint32_t magic;
	uint16_t port, zero;
	uint8_t key[TCPX_LANE_KEY];
	char name[HUB_NAME_BYTES];
	char addrs[HUB_ADDRS_BYTES];
};

_Static_assert(sizeof(struct ticket) == PIPE_TICKET_BYTES, "a ticket fills its room");

struct pipe_listen {
	tcpx_lane *lane;    /* NULL: accepted                                        */
};

struct pipe {
	tcpx_lane *lane;
	char who[TCPX_NAME_MAX];
	bool sends, ready;
	/* of a sender */
	struct hub *hub;
	tcpx_peer *peer;
	struct ticket to;
	struct communicator of;
	unsigned refused;   /* times                                                 */
};

/* What tcpx top calls a communicator, and NCCL's log commId. */
static int
name_lane(tcpx_lane *lane, const struct communicator *of)
{
	char label[TCPX_LANE_LABEL];

	snprintf(label, sizeof(label), "comm %llx", (unsigned long long)of->id);
	return of->id ? tcpx_lane_label(lane, label) : 0;
}

/* ---- arriving -------------------------------------------------------------------- */

int
tcpx_nccl_pipe_listen(struct hub *h, struct communicator of, uint8_t ticket[PIPE_TICKET_BYTES],
		      struct pipe_listen **out)
{
	struct pipe_listen *l = calloc(1, sizeof(*l));
	struct ticket t = { .magic = TICKET_MAGIC, .port = h->port };
	int rc = l ? tcpx_lane_listen(h->engine, t.key, &l->lane) : -ENOMEM;

	if (rc == 0)
		rc = name_lane(l->lane, &of);
	if (rc) {
		if (l)
			tcpx_nccl_pipe_listen_close(l);
		return rc;
	}
	memcpy(t.name, h->name, sizeof(t.name));
	memcpy(t.addrs, h->addrs, sizeof(t.addrs));
	memcpy(ticket, &t, sizeof(t));
	*out = l;
	return 0;
}

static void
name_peer(struct pipe *p)
{
	struct tcpx_peer_info info = TCPX_PEER_INFO_INIT;
	tcpx_peer *peer;

	if (tcpx_lane_peer(p->lane, &peer))
		return;
	if (tcpx_peer_query(peer, &info) == 0)
		snprintf(p->who, sizeof(p->who), "%s", info.name);
	tcpx_peer_free(peer);
}

/* A lane that has failed already is accepted, too: its first receive says why. */
int
tcpx_nccl_pipe_accept(struct pipe_listen *l, struct pipe **out)
{
	struct pipe *p;

	if (!l->lane || tcpx_lane_ready(l->lane) == -EAGAIN)
		return -EAGAIN;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->lane = l->lane;
	l->lane = NULL;
	p->ready = true;
	name_peer(p);
	*out = p;
	return 0;
}

void
tcpx_nccl_pipe_listen_close(struct pipe_listen *l)
{
	tcpx_lane_close(l->lane);
	free(l);
}

/* ---- connecting ------------------------------------------------------------------ */

/* "NAME@ADDRESS:PORT,ADDRESS:PORT": all addresses, from another one on at each refusal. */
static void
write_place(const struct pipe *p, char place[PLACE_BYTES])
{
	size_t at = (size_t)snprintf(place, PLACE_BYTES, "%s@", p->to.name);
	const char *addr[HUB_ADDRS_BYTES / 2], *rest = p->to.addrs;
	unsigned count = 0;

	for (; *rest && count < HUB_ADDRS_BYTES / 2; rest += strcspn(rest, ","), rest += *rest == ',')
		addr[count++] = rest;
	for (unsigned i = 0; i < count && at < PLACE_BYTES; i++) {
		const char *one = addr[(i + p->refused) % count];
		int len = (int)strcspn(one, ",");
		bool six = memchr(one, ':', (size_t)len) != NULL;

		at += (size_t)snprintf(place + at, PLACE_BYTES - at, "%s%s%.*s%s:%u", i ? "," : "", six ? "[" : "",
				       len, one, six ? "]" : "", (unsigned)p->to.port);
	}
}

/* An older session by one of its addresses serves. */
static int
dial(struct pipe *p)
{
	char place[PLACE_BYTES];

	tcpx_lane_close(p->lane);
	p->lane = NULL;
	tcpx_peer_free(p->peer);
	p->peer = NULL;
	write_place(p, place);
	return tcpx_peer_connect(p->hub->engine, place, &p->peer);
}

static bool
is_address(const char *text, size_t len)
{
	char one[HUB_ADDRS_BYTES];
	struct in6_addr addr;

	snprintf(one, sizeof(one), "%.*s", (int)len, text);
	return inet_pton(AF_INET, one, &addr) == 1 || inet_pton(AF_INET6, one, &addr) == 1;
}

/* A ticket comes by NCCL's bootstrap, which proves nothing. A host name in it would be looked up, for as long as
 * that takes, and a control character would reach NCCL's log. */
static bool
is_whole(const struct ticket *t)
{
	const char *at = t->addrs;
	size_t len;

	for (const char *c = t->name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	for (;; at += len + 1) {
		len = strcspn(at, ",");
		if (!is_address(at, len))
			return false;
		if (!at[len])
			return true;
	}
}

int
tcpx_nccl_pipe_connect(struct hub *h, struct communicator of,
		       const uint8_t ticket[PIPE_TICKET_BYTES], struct pipe **out, char *why)
{
	struct pipe *p = calloc(1, sizeof(*p));
	int rc;

	if (!p) {
		snprintf(why, PIPE_WHY_BYTES, "no memory for a connection");
		return -ENOMEM;
	}
	p->hub = h;
	p->sends = true;
	p->of = of;
	memcpy(&p->to, ticket, sizeof(p->to));
	p->to.name[sizeof(p->to.name) - 1] = p->to.addrs[sizeof(p->to.addrs) - 1] = '\0';
	snprintf(p->who, sizeof(p->who), "%s", p->to.name);
	if (p->to.magic != TICKET_MAGIC) {
		rc = -EINVAL;
		snprintf(why, PIPE_WHY_BYTES, "the handle is not of tcpx-p2p: the rank that gave it runs without this "
			 "plugin");
	} else if (!is_whole(&p->to)) {
		rc = -EINVAL;
		snprintf(why, PIPE_WHY_BYTES, "the handle was changed on its way from the rank that gave it: its name "
			 "or its addresses are none");
	} else {
		rc = dial(p);
		tcpx_last_error(NULL, why, PIPE_WHY_BYTES);
	}
	if (rc) {
		tcpx_nccl_pipe_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

/* Of the ticket. */
static unsigned
addresses(const struct pipe *p)
{
	unsigned count = 1;

	for (const char *at = strchr(p->to.addrs, ','); at; at = strchr(at + 1, ','))
		count++;
	return count;
}

/* Dials the next address after a refusal, as another process may answer at the first. Silence was waited for long
 * enough. */
static bool
again(struct pipe *p, int rc)
{
	return rc != TCPX_ETIMEDOUT && ++p->refused < addresses(p) && dial(p) == 0;
}

/* A lane that stood, and whose receiver has ended it since, is ready: its first message says why. */
int
tcpx_nccl_pipe_ready(struct pipe *p)
{
	int rc;

	if (p->ready)
		return 0;
	rc = p->lane ? 0 : tcpx_peer_wait(p->peer, 0);
	if (rc == 0 && !p->lane) {
		rc = tcpx_lane_open(p->peer, p->to.key, &p->lane);
		if (rc == 0)
			rc = tcpx_lane_weight(p->lane, p->of.weight);
		if (rc == 0)
			rc = name_lane(p->lane, &p->of);
	}
	if (rc == 0)
		rc = tcpx_lane_ready(p->lane);
	if (rc == -EAGAIN || rc == -ENOENT) /* nobody listens for it, and nobody will */
		return rc;
	p->ready = rc == 0 || (p->lane && tcpx_peer_wait(p->peer, 0) == 0);
	return p->ready ? 0 : again(p, rc) ? -EAGAIN : rc;
}

/* ---- messages -------------------------------------------------------------------- */

int
tcpx_nccl_pipe_post(struct pipe *p, uint64_t region, uint64_t offset, uint64_t len,
		    tcpx_xfer **message)
{
	return tcpx_lane_post(p->lane, region, offset, len, message);
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
	tcpx_lane_close(p->lane);
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
