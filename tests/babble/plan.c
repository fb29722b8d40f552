/* SPDX-License-Identifier: Apache-2.0 */
/* What a world is made of, over either network: chances, settings, engines. */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "babble/babble.h"
#include "core/session/peer.h"

static volatile uint64_t watched;

static void
hangs(int signo)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "seed %" PRIu64 " hangs\n", watched);

	(void)signo;
	(void)!write(STDOUT_FILENO, line, (size_t)n);
	abort();
}

void
babble_watch(uint64_t seed, unsigned seconds)
{
	watched = seed;
	signal(SIGALRM, hangs);
	alarm(seconds);
}

void
babble_fail(struct world *w, const char *fmt, ...)
{
	va_list args;

	if (w->failed)
		return;
	w->failed = true;
	printf("seed %llu, %s%s, at %.3f ms: ", (unsigned long long)w->seed, w->ops->name,
	       w->secret.ops ? ", secret" : "",
	       (double)(tcpx_clock_now(w->clock) - w->begun_ns) / TCPX_MS);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

bool
babble_one_in(struct world *w, uint32_t n)
{
	return tcpx_rng_below(&w->rng, n) == 0;
}

uint64_t
babble_between(struct world *w, uint64_t low, uint64_t high)
{
	return tcpx_rng_between(&w->rng, low, high);
}

static void
log_line(void *arg, int level, const char *line)
{
	(void)level;
	if (*(const bool *)arg)
		printf("  %s\n", line);
}

static void
setting(struct world *w, const char *name, uint64_t value)
{
	uint32_t n = 0;

	while (w->settings[n])
		n++;
	snprintf(w->setting[n - 1], sizeof(w->setting[0]), "%s=%llu", name, (unsigned long long)value);
	w->settings[n] = w->setting[n - 1];
}

void
babble_nic(const struct world *w, uint8_t place, struct tcpx_nic *nic)
{
	*nic = (struct tcpx_nic){ .numa = -1, .addr = { .family = 4, .prefix = 24,
							.ip = { w->fabric ? 10 : 127, 0, 0, place } } };
	snprintf(nic->name, sizeof(nic->name), "eth0");
}

void
babble_plan(struct world *w)
{
	babble_nic(w, 1, &w->host_nic);
	babble_nic(w, 2, &w->guest_nic);
	/* other seeds are as they were before there were lanes: some are kept for what they found */
	w->lanes = w->seed % 3 == 0;
	w->narrow = w->seed % 5 == 0;
	w->babblers = (uint32_t)babble_between(w, 1, BABBLERS);
	w->talk_ns = babble_one_in(w, 10) ? 15 * TCPX_SEC : babble_between(w, 20, 200) * TCPX_MS;
	w->notes_taken = !babble_one_in(w, 3);
	w->settings[0] = "TCPX_STATS=off";
	setting(w, "TCPX_CHANNELS", babble_between(w, 1, 4));
	setting(w, "TCPX_THREADS", babble_between(w, 1, 2));
	setting(w, "TCPX_CHUNK", 64 << 10);
	setting(w, "TCPX_INLINE", babble_between(w, 0, 4096));
	setting(w, "TCPX_CREDIT_XFERS", babble_one_in(w, 2) ? 64 : babble_between(w, 1, 8));
	setting(w, "TCPX_CREDIT_LIST_BYTES", babble_one_in(w, 2) ? 64 << 10 : 16 << 20);
	setting(w, "TCPX_PEER_MEMORY", babble_one_in(w, 2) ? 4 << 20 : 64 << 20);
	setting(w, "TCPX_CHECKSUM", babble_one_in(w, 4));
	setting(w, "TCPX_NARROW", w->narrow);
}

static int
open_engine(struct world *w, const char *name, const struct tcpx_nic *nic, tcpx_engine **e)
{
	struct engine_env env = { .clock = *w->clock, .net = w->ops,
				  .fabric = w->fabric, .device = &tcpx_device_host,
				  .manual = w->fabric != NULL, .nics = nic, .nic_count = 1,
				  .secret = w->secret.ops ? &w->secret : NULL };
	struct tcpx_engine_opts opts = { .struct_size = sizeof(opts), .name = name,
					 .settings = w->settings, .log = log_line,
					 .log_arg = &w->verbose };
	int rc;

	if (nic == &w->host_nic) {
		env.gpu = w->gpu_ops;
		env.gpu_arg = w->gpu_ops ? &w->gpu : NULL;
	}
	rc = tcpx_engine_open(&opts, &env, e);
	if (rc == 0) /* of two sessions one opens by their order */
		(*e)->incarnation = tcpx_rng_next(&w->rng) | 1;
	return rc;
}

int
babble_open_engines(struct world *w)
{
	int rc = open_engine(w, "host", &w->host_nic, &w->host);

	if (rc)
		return rc;
	if (w->seed % 2)
		w->host->limit.turn_cost = 1 + (uint32_t)(w->seed / 2 % 600);
	if (w->seed / 3 % 8)
		w->host->limit.breach_ns = 0; /* else few words are heard after the first wrong ones */
	w->host->limit.wide_bytes = 1 + w->seed * 7919 % (64 << 10);
	w->host->limit.narrow_ns = w->seed * 104729 % 50 * TCPX_MS;
	w->told->port = tcpx_port(w->host);
	rc = open_engine(w, "guest", &w->guest_nic, &w->guest);
	return rc ? rc : babble_host_begin(w);
}

/* Nobody keeps more than he may. */
void
babble_check_quotas(struct world *w)
{
	struct tcpx_engine *e = w->host;
	struct tcpx_node *all = &e->registry.peers;

	if (tcpx_quota_used(&e->kept) > e->kept.limit)
		babble_fail(w, "the host keeps %llu bytes for all",
			    (unsigned long long)tcpx_quota_used(&e->kept));
	pthread_mutex_lock(&e->registry.lock);
	for (struct tcpx_node *n = all->next; n != all; n = n->next) {
		const struct tcpx_peer *p = tcpx_container(n, struct tcpx_peer, in_engine);

		if (tcpx_quota_used(&p->kept) > p->kept.limit)
			babble_fail(w, "the host keeps %llu bytes for %s",
				    (unsigned long long)tcpx_quota_used(&p->kept), p->name);
	}
	pthread_mutex_unlock(&e->registry.lock);
}
