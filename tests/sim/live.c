/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live FIRST COUNT [--seconds N] [--verbose]: the same over sockets of the loopback, for each seed
 * from FIRST on. Host and guest are a process with threads of their own, the babblers another, which
 * ends a seed by frames, at the latest by the time: it waits for nothing that need not come. Prints
 * each seed that broke a property; exit status 1 if there is one.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/babble/babble.h"
#include "net/registry.h"

#define FRAMES       600 /* of a babbler */
#define LONGEST_NS   (200 * TCPX_MS) /* a seed ends then */
#define HANG_SECONDS 120 /* of one seed, which takes a fraction of a second */
#define AFTER        2   /* transfers of the guest that are posted when the babblers have left */

/* What both processes see. */
struct common {
	struct told told;
	struct sim_totals host;
};

struct run {
	struct common *common;
	struct tcpx_secret *secret; /* NULL: no OpenSSL here */
	bool verbose;
	struct sim_totals totals;
	long most_kib; /* resident, of a host */
};

/* ---- the host's process ---- */

/* The babblers have left: what waits for them is given up, what was not posted is posted now. */
static void
left_alone(struct sim_world *w)
{
	w->babble->gone = w->babble->takes_notes = true;
	for (int i = 0; i < BABBLE_XFERS; i++)
		w->babble->deal[i].until_ns = sim_now(w);
	for (uint32_t i = 0; i < w->xfer_count; i++)
		for (int h = 0; h < 2; h++)
			if (!w->xfer[i].handle[h].posted)
				w->xfer[i].handle[h].post_ns = sim_now(w);
}

/* The first transfers wait until the babblers have left. */
static void
live(struct sim_world *w, int leave)
{
	struct pollfd fds[2] = { { .fd = leave, .events = POLLIN },
				 { .fd = tcpx_event_fd(w->engine[0].engine), .events = POLLIN } };

	for (uint32_t i = 0; i < AFTER && i < w->xfer_count; i++)
		w->xfer[i].handle[0].post_ns = w->xfer[i].handle[1].post_ns = SIM_NEVER;
	while (!w->failed && !(sim_work_ended(w) && sim_lanes_ended(w) && sim_host_ended(w) &&
			       sim_notes_came(w))) {
		sim_work_do(w);
		sim_lanes_do(w);
		sim_host_do(w);
		sim_work_look(w);
		sim_host_look(w);
		(void)poll(fds, 2, 1);
		if (!w->babble->gone && fds[0].revents)
			left_alone(w);
		if (w->babble->gone)
			fds[0].fd = -1;
	}
}

/* The exit status. It answers on @ready when it can be dialled, and ends after the end of @leave. */
static int
host_process(struct sim_world *w, struct run *r, int ready, int leave)
{
	bool opened;

	sim_watch(w->seed, HANG_SECONDS);
	for (uint32_t i = 0; i < w->babble->babblers; i++)
		babbler_end(&w->babble->babbler[i]);
	w->totals = &r->common->host;
	opened = sim_open(w) == 0;
	(void)!write(ready, "", 1);
	if (opened)
		live(w, leave);
	sim_close(w, opened);
	return w->failed;
}

/* ---- the babblers' process ---- */

static void
watch(struct babbler *b, struct tcpx_poller *p)
{
	const struct tcpx_net_ops *ops = b->world->ops;
	unsigned what = b->reads || b->stage != STAGE_OPEN ? TCPX_READABLE : 0;
	const uint8_t *data;

	if (b->listener)
		(void)ops->stream_watch(b->listener, p, b, TCPX_READABLE);
	if (b->line.stream && b->stage > STAGE_START &&
	    (tcpx_line_owes(&b->line) || tcpx_ctrl_pending(b->ctrl, &data)))
		what |= TCPX_WRITABLE;
	if (b->line.stream)
		(void)ops->stream_watch(b->line.stream, p, b, what);
	for (uint32_t i = 0; b->reads && i < 2 * b->count; i++)
		if (b->chan[i].chan && b->chan[i].forward != b->opener)
			(void)ops->chan_watch(b->chan[i].chan, p, b, TCPX_READABLE);
}

/* Until something has come, or a babbler has something to say. */
static void
rest(struct sim_world *w, struct tcpx_poller *p)
{
	uint64_t now_ns = tcpx_clock_now(w->clock), next = now_ns + TCPX_MS;
	struct tcpx_net_event events[16];

	for (uint32_t i = 0; i < w->babble->babblers; i++) {
		struct babbler *b = &w->babble->babbler[i];

		if (!b->net)
			continue;
		watch(b, p);
		if (b->next_ns < next)
			next = b->next_ns;
	}
	(void)w->ops->poller_wait(p, events, 16, next > now_ns ? (int64_t)(next - now_ns) : 0);
}

static void
babble(struct sim_world *w, struct tcpx_poller *p)
{
	uint64_t end_ns = tcpx_clock_now(w->clock) + LONGEST_NS;
	uint32_t talking = w->babble->babblers;

	while (talking && !w->failed && tcpx_clock_now(w->clock) < end_ns) {
		talking = 0;
		for (uint32_t i = 0; i < w->babble->babblers; i++) {
			struct babbler *b = &w->babble->babbler[i];

			babbler_do(b);
			if (b->said > FRAMES)
				babbler_end(b);
			talking += b->net != NULL;
		}
		rest(w, p);
	}
	for (uint32_t i = 0; i < w->babble->babblers; i++)
		babbler_end(&w->babble->babbler[i]);
}

/* ---- a seed ---- */

static void
plan(struct sim_world *w, const struct run *r)
{
	w->ops = &tcpx_net_sock;
	w->clock = &tcpx_clock_system;
	w->begun_ns = tcpx_clock_now(w->clock);
	w->weather = SIM_BABBLE;
	w->verbose = r->verbose;
	if (r->secret && sim_one_in(w, 2))
		w->secret = *r->secret;
	sim_plan(w);
	w->babble->told = &r->common->told;
}

/* 0: the process of the host has ended well. */
static int
ended(struct run *r, pid_t host, uint64_t seed)
{
	struct rusage used;
	int status = 0;

	while (wait4(host, &status, 0, &used) < 0 && errno == EINTR)
		;
	if (used.ru_maxrss > r->most_kib)
		r->most_kib = used.ru_maxrss;
	if (WIFSIGNALED(status))
		printf("seed %" PRIu64 ": the host ends by signal %d\n", seed, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		printf("seed %" PRIu64 ": the host ends with status %d\n", seed, WEXITSTATUS(status));
	return status;
}

static void
meet(struct sim_world *w, struct run *r, struct tcpx_poller *p, pid_t host, const int fds[4])
{
	char byte;

	close(fds[1]);
	close(fds[2]);
	w->rng = tcpx_rng_seed(~w->seed);
	if (read(fds[0], &byte, 1) == 1)
		babble(w, p);
	close(fds[0]);
	close(fds[3]);
	w->failed |= ended(r, host, w->seed) != 0;
}

static bool
one(struct run *r, uint64_t seed)
{
	struct sim_world *w = calloc(1, sizeof(*w));
	struct tcpx_poller *p = NULL;
	int fds[4], rc;
	pid_t host;
	bool bad;

	if (!w || pipe(fds) || pipe(fds + 2))
		exit(2);
	w->seed = seed;
	w->rng = tcpx_rng_seed(seed);
	w->totals = &r->totals;
	plan(w, r);
	rc = sim_babblers_begin(w);
	if (rc == 0)
		rc = w->ops->poller_open(NULL, &p);
	fflush(stdout);
	host = rc ? -1 : fork();
	if (host < 0) {
		perror("babblers");
		exit(2);
	}
	if (host == 0) {
		w->ops->poller_close(p);
		close(fds[0]);
		close(fds[3]);
		rc = host_process(w, r, fds[1], fds[2]);
		free(w);
		exit(rc);
	}
	meet(w, r, p, host, fds);
	w->ops->poller_close(p);
	bad = w->failed;
	free(w->babble);
	free(w);
	return bad;
}

/* ---- all ---- */

static struct tcpx_secret *
some_secret(void)
{
	char path[] = "/tmp/babble-secret-XXXXXX", text[] = "a secret of many engines, and some bytes more";
	struct tcpx_secret *s = NULL;
	int fd = mkstemp(path);

	if (fd < 0)
		return NULL;
	if (write(fd, text, sizeof(text)) != sizeof(text) || tcpx_secret_open(path, &s) != 0)
		s = NULL;
	close(fd);
	unlink(path);
	return s;
}

static void
report(const struct run *r, uint64_t seeds, uint64_t bad)
{
	const struct sim_totals *h = &r->common->host;

	printf("# %" PRIu64 " seeds, %" PRIu64 " bad; %" PRIu64 " transfers of others, %.1f MB; %" PRIu64 " of %"
	       PRIu64 " messages of lanes succeeded; a host had %ld MiB at most\n", seeds, bad, h->done,
	       (double)h->bytes / 1e6, h->messages_done, h->messages, r->most_kib >> 10);
	sim_babble_print(&r->totals);
}

int
main(int argc, char **argv)
{
	uint64_t first, count, seed, bad = 0, end_ns = UINT64_MAX, seconds;
	struct run r = { .secret = some_secret() };

	if (argc < 3 || sscanf(argv[1], "%" SCNu64, &first) != 1 ||
	    sscanf(argv[2], "%" SCNu64, &count) != 1) {
		fprintf(stderr, "usage: live FIRST COUNT [--seconds N] [--verbose]\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		r.verbose |= !strcmp(argv[i], "--verbose");
		if (!strcmp(argv[i], "--seconds") && i + 1 < argc &&
		    sscanf(argv[i + 1], "%" SCNu64, &seconds) == 1)
			end_ns = tcpx_clock_now(&tcpx_clock_system) + seconds * TCPX_SEC;
	}
	r.common = mmap(NULL, sizeof(*r.common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (r.common == MAP_FAILED)
		return 2;
	for (seed = first; seed - first < count && tcpx_clock_now(&tcpx_clock_system) < end_ns; seed++) {
		sim_watch(seed, 2 * HANG_SECONDS);
		bad += one(&r, seed);
	}
	report(&r, seed - first, bad);
	tcpx_secret_close(r.secret);
	return bad ? 1 : 0;
}
