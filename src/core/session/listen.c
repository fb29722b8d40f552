/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners for control: at each address of the engine's NICs, and at the loopback if
 * nobody named NICs. */
#include "core/session/listen.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/admit.h"
#include "base/parse.h"
#include "core/context/context.h"
#include "core/session/accept.h"

static int
listen_at(struct tcpx_engine *e, const struct tcpx_addr *addr, const char *nic)
{
	struct listening *at = &e->listeners->at[e->listeners->count];
	int rc;

	rc = e->ops->listen(e->net, addr, &at->bound, &at->listener);
	if (rc)
		return rc; /* the caller knows whether another port will do */
	at->engine = e;
	at->nic = nic;
	at->bound.prefix = addr->prefix;
	at->source.on_ready = tcpx_accept_ready;
	e->listeners->count++;
	return e->ops->stream_watch(at->listener, e->loop[0].poller, &at->source,
				    TCPX_READABLE);
}

/* Logs what the provider left to its caller. */
static int
judge(const struct tcpx_addr *addr, int rc)
{
	char text[64];

	if (rc != -EADDRINUSE && rc != -EADDRNOTAVAIL)
		return rc;
	tcpx_addr_format(addr, text, sizeof(text));
	return tcpx_fail(TCPX_SUB_BOOT, rc, "listen on %s: %s", text, tcpx_err_text(rc));
}

/* A listener that peers learn of. */
static int
listen_told(struct tcpx_engine *e, const struct tcpx_addr *addr, const char *nic)
{
	int rc = listen_at(e, addr, nic);

	e->listeners->advertised = e->listeners->count;
	return rc;
}

/* The first address gets the port, or there is an error; the others get the same
 * port if it is free. */
static int
listen_like_first(struct tcpx_engine *e, struct tcpx_addr addr, uint64_t port, const char *nic)
{
	bool first = e->listeners->count == 0;
	int rc;

	addr.port = first ? (uint16_t)port : e->listeners->at[0].bound.port;
	rc = listen_told(e, &addr, nic);
	if (rc == -EADDRINUSE && !first) {
		addr.port = 0;
		rc = listen_told(e, &addr, nic);
	}
	return judge(&addr, rc);
}

static bool
listens_at(const struct tcpx_engine *e, const struct tcpx_addr *addr)
{
	for (uint32_t i = 0; i < e->listeners->count; i++)
		if (tcpx_addr_same_host(&e->listeners->at[i].bound, addr) &&
		    e->listeners->at[i].bound.scope == addr->scope)
			return true;
	return false;
}

/* Listens at one more address, by the port of the first; no blob names it. An address that
 * cannot be had is no error. */
static int
listen_also(struct tcpx_engine *e, struct tcpx_addr addr, const char *nic)
{
	char text[64];
	int rc;

	if (listens_at(e, &addr))
		return 0;
	addr.port = e->listeners->at[0].bound.port;
	rc = listen_at(e, &addr, nic);
	if (rc == -EADDRINUSE) {
		tcpx_addr_format(&addr, text, sizeof(text));
		tcpx_warn(TCPX_SUB_BOOT, "%s is in use: %s will not reach this engine", text,
			  tcpx_addr_is_loopback(&addr) ? "localhost" : "it");
	}
	return rc == -EADDRINUSE || rc == -EADDRNOTAVAIL || rc == -EAFNOSUPPORT ? 0 : rc;
}

/* Listens at the other addresses, and at "localhost" if no NIC was named: on another host
 * that address would be that host's. No loopback, or none of a family, is no error. */
static int
listen_also_at(struct tcpx_engine *e)
{
	static const struct tcpx_addr own[LOOPBACKS] = {
		{ .family = 4, .ip = { 127, 0, 0, 1 }, .prefix = 8 },
		{ .family = 6, .ip = { [15] = 1 }, .prefix = 128 },
	};
	uint32_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < e->nics.other_count; i++)
		rc = listen_also(e, e->nics.other[i].addr, e->nics.other[i].name);
	for (i = 0; rc == 0 && !e->nics.named && i < LOOPBACKS; i++)
		rc = listen_also(e, own[i], "loopback");
	return rc;
}

/* "PORT" for the control NIC and all others, "ADDR:PORT", or "off". */
int
tcpx_listen_open(struct tcpx_engine *e, const char *text)
{
	uint64_t port = tcpx_cfg_num(e->cfg, TCPX_SET_PORT);
	struct rlimit files = { 0 };
	struct tcpx_addr addr;
	uint32_t i;
	int rc = 0;

	getrlimit(RLIMIT_NOFILE, &files);
	e->listeners->pending_max = tcpx_admit_room(files.rlim_cur, 1, PENDING_MAX);
	e->listeners->half_open_max = tcpx_admit_room(files.rlim_cur, 1, HALF_OPEN_MAX);
	if (text ? !strcmp(text, "off") : port == TCPX_PORT_OFF)
		return 0;
	if (text && tcpx_addr_parse(text, &addr) == 0)
		return judge(&addr, listen_told(e, &addr, "address"));
	if ((text && tcpx_parse_count(text, &port) != 0) || port > 65535)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_ECONFIG,
				 "listen \"%s\": PORT (0 to 65535), ADDRESS:PORT (the address as an "
				 "IPv4 or [IPv6] literal) or off expected", text);
	for (i = 0; rc == 0 && i < e->nics.ctrl.count; i++)
		rc = listen_like_first(e, e->nics.ctrl.addr[i], port, e->nics.ctrl.name);
	if (rc == 0 && e->nics.ctrl.count)
		tcpx_info(TCPX_SUB_BOOT, "control arrives at %s, too; data go by %u other NICs",
			  e->nics.ctrl.name, e->nics.count);
	for (i = 0; rc == 0 && i < e->nics.count; i++)
		if (!tcpx_addr_is_wild(&e->nics.at[i].addr)) /* control takes the others */
			rc = listen_like_first(e, e->nics.at[i].addr, port, e->nics.at[i].name);
	return rc ? rc : listen_also_at(e);
}

struct tcpx_addr
tcpx_listen_advertised(const struct tcpx_engine *e, const struct tcpx_addr *bound)
{
	struct tcpx_addr advertised = e->nics.advertised.family ? e->nics.advertised : *bound;

	for (uint32_t i = 0; i < e->nics.count; i++)
		if (e->nics.at[i].advertised.family && tcpx_addr_same_host(&e->nics.at[i].addr, bound)) {
			advertised = e->nics.at[i].advertised;
			break;
		}
	advertised.port = bound->port;
	return advertised;
}

bool
tcpx_listen_is_advertised(const struct tcpx_engine *e, const struct tcpx_addr *at)
{
	for (uint32_t i = 0; i < e->listeners->advertised; i++) {
		struct tcpx_addr advertised = tcpx_listen_advertised(e, &e->listeners->at[i].bound);

		if (advertised.port == at->port && tcpx_addr_same_host(&advertised, at))
			return true;
	}
	return false;
}

void
tcpx_listen_rest(struct listening *at, uint64_t rest_ns, uint64_t now_ns)
{
	struct loop *l = &at->engine->loop[0];

	if (at->engine->ops->stream_watch(at->listener, l->poller, &at->source, 0) != 0)
		return;
	at->rest_until_ns = now_ns + rest_ns;
	tcpx_loop_timer(l, at->rest_until_ns);
}

static void
look_again(struct listening *at, uint64_t now_ns)
{
	struct loop *l = &at->engine->loop[0];

	if (at->rest_until_ns && now_ns >= at->rest_until_ns) {
		at->rest_until_ns = 0;
		(void)at->engine->ops->stream_watch(at->listener, l->poller, &at->source,
						    TCPX_READABLE);
	}
	if (at->rest_until_ns)
		tcpx_loop_timer(l, at->rest_until_ns);
}

void
tcpx_listen_rested(struct tcpx_engine *e, uint64_t now_ns)
{
	for (uint32_t i = 0; i < e->listeners->count; i++)
		look_again(&e->listeners->at[i], now_ns);
}
