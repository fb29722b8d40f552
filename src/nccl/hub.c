/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of this process, with the settings that NCCL's contract asks for. It stays open until
 * the process ends, because a new communicator would need it at once.
 */
#include "nccl/hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/hints.h"
#include "nccl/say.h"

#define SETTINGS     10
#define NICS_MAX     64
#define NICS         "TCPX_NICS="

/*
 * What this plugin must have, which takes no notes and posts no receive of two-sided transfers, and what it
 * has instead of the library's defaults unless the environment says otherwise. NCCL gives up no peer whose
 * process stands still: one may checkpoint for minutes. A network that is gone ends the job after
 * TCPX_STALL_MS all the same, since dead paths are found in parts of that.
 * With fewer messages in flight on a connection large ones are faster (docs/results/nccl.md), and NCCL has at
 * most eight on each of its own. NCCL_P2P_NET_CHUNKSIZE says how NCCL cuts
 * what it sends, and is no size for the library's chunks.
 */
static const char *const always[] = { "TCPX_PROVIDER=sock", "TCPX_CUDA_LIBRARY=none", "TCPX_NOTE_LIMIT=0",
				      "TCPX_SEND_LIMIT=0" };
static const char *const usual[] = { "TCPX_FREEZE_MS=600s", "TCPX_CONNECT_MS=120s",
				     "TCPX_WINDOW=4", "TCPX_CHUNK=auto" };

struct settings {
	const char *at[SETTINGS + 1]; /* the last one is NULL */
	char nics[4200];
};

static bool
is_set(const char *setting)
{
	char name[64];
	const char *value;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(setting, "="), setting);
	value = getenv(name);
	return value && *value;
}

const char *
tcpx_nccl_hub_nics_by(void)
{
	const char *names = getenv("NCCL_SOCKET_IFNAME");

	if (is_set("TCPX_NICS"))
		return "TCPX_NICS";
	return names && *names && names[1] && names[strspn(names, ",")] ? "NCCL_SOCKET_IFNAME" : NULL;
}

/* NCCL reads these two values, and no others. */
static const char *
family_setting(void)
{
	const char *family = getenv("NCCL_SOCKET_FAMILY");

	if (!family || is_set("TCPX_FAMILY"))
		return NULL;
	return !strcmp(family, "AF_INET") ? "TCPX_FAMILY=ipv4" : !strcmp(family, "AF_INET6") ? "TCPX_FAMILY=ipv6" : NULL;
}

/* By NCCL_SOCKET_IFNAME users often keep a NIC out. An empty list is set, too: the library reads that
 * variable as a hint. */
static void
settings_make(struct settings *s)
{
	const char *names = getenv("NCCL_SOCKET_IFNAME");
	size_t count = 0;

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		s->at[count++] = always[i];
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (!is_set(usual[i]))
			s->at[count++] = usual[i];
	if (names && *names && !is_set("TCPX_NICS")) {
		memcpy(s->nics, NICS, sizeof(NICS));
		tcpx_hint_nics(names, s->nics + strlen(NICS), sizeof(s->nics) - strlen(NICS));
		s->at[count++] = s->nics;
	}
	s->at[count] = family_setting();
	s->at[count + 1] = NULL;
}

static int
open_engine(const char *name, const char *listen, tcpx_engine **engine)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	struct settings settings;
	const char *chosen = tcpx_nccl_hub_nics_by();
	char why[PIPE_WHY_BYTES], by[200] = "";
	int rc;

	settings_make(&settings);
	opts.name = name;
	opts.listen = listen;
	opts.settings = settings.at;
	opts.log = tcpx_nccl_sink;
	rc = tcpx_open(&opts, engine);
	if (rc) {
		tcpx_last_error(NULL, why, sizeof(why));
		if (rc == -ENODEV && chosen)
			snprintf(by, sizeof(by), "; set by %s \"%.128s\"", chosen, getenv(chosen));
		tcpx_nccl_warn("no engine: %s%s%s", why, by,
			       rc == -ENODEV && family_setting() ? "; only addresses of NCCL_SOCKET_FAMILY count" : "");
	}
	return rc;
}

int
tcpx_nccl_hub_nics(struct tcpx_nic_info *out, size_t *count)
{
	tcpx_engine *engine;
	int rc = open_engine("nccl-devices", "off", &engine);

	if (rc)
		return rc;
	rc = tcpx_query_nics(engine, out, sizeof(*out), count);
	tcpx_close(engine);
	return rc;
}

static void
name_hub(struct hub *h)
{
	char host[17] = "host";
	unsigned id;

	(void)gethostname(host, sizeof(host)); /* of a longer name it writes what fits, and fails */
	host[sizeof(host) - 1] = '\0';
	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		id = (unsigned)(uintptr_t)h;
	snprintf(h->name, sizeof(h->name), "%s:%d.%08x", host, (int)getpid(), id);
}

void
tcpx_nccl_hub_addrs(const struct tcpx_nic_info *nics, size_t count, char out[HUB_ADDRS_BYTES])
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const char *addr = nics[i].addr;

		if (!strcmp(addr, "0.0.0.0") || !strcmp(addr, "::"))
			continue; /* it has none yet */
		if (at + strlen(addr) + 2 > HUB_ADDRS_BYTES)
			break;
		at += (size_t)snprintf(out + at, HUB_ADDRS_BYTES - at, "%s%s", at ? "," : "", addr);
	}
}

static int
write_addrs(struct hub *h)
{
	struct tcpx_nic_info nic[NICS_MAX];
	size_t count = NICS_MAX;
	int rc = tcpx_query_nics(h->engine, nic, sizeof(nic[0]), &count);

	if (rc)
		return rc;
	tcpx_nccl_hub_addrs(nic, count < NICS_MAX ? count : NICS_MAX, h->addrs);
	h->port = tcpx_port(h->engine);
	return h->addrs[0] ? 0 : -ENODEV;
}

int
tcpx_nccl_hub_open(struct hub **out)
{
	struct hub *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return -ENOMEM;
	name_hub(h);
	rc = open_engine(h->name, NULL, &h->engine);
	if (rc == 0)
		rc = write_addrs(h);
	if (rc) {
		tcpx_close(h->engine);
		free(h);
		return rc;
	}
	*out = h;
	return 0;
}

int
tcpx_nccl_hub_register(struct hub *h, void *addr, size_t len, uint64_t *region)
{
	/* NCCL leaves a buffer alone until its request is done, or its communicator is aborted */
	return tcpx_mem_register(h->engine, addr, len, TCPX_MEM_LEND, region);
}

void
tcpx_nccl_hub_deregister(struct hub *h, uint64_t region)
{
	(void)tcpx_mem_deregister(h->engine, region);
}
