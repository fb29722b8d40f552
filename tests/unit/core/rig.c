/* SPDX-License-Identifier: Apache-2.0 */
/* Engines, memory and counting for the tests of the engine. See rig.h. */
#include "rig.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SETTINGS_MAX 24

static void
swallow(void *arg, int level, const char *line)
{
	if (getenv("RIG_LOG"))
		fprintf(stderr, "# %d %s\n", level, line);
}

static int
entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

int
fd_count(void)
{
	return entries("/proc/self/fd");
}

static void *
nothing(void *arg)
{
	return arg;
}

int
thread_count(void)
{
	pthread_t t;

	/* a sanitizer's own thread comes with the first one */
	assert_int_equal(pthread_create(&t, NULL, nothing, NULL), 0);
	pthread_join(t, NULL);
	return entries("/proc/self/task");
}

void
assert_threads(int expected)
{
	uint64_t end_ns = tcpx_clock_now(&tcpx_clock_system) + TCPX_SEC;

	/* a joined thread is listed for a moment longer; expected may have counted one, too */
	while (entries("/proc/self/task") > expected &&
	       tcpx_clock_now(&tcpx_clock_system) < end_ns)
		sched_yield();
	assert_in_range(entries("/proc/self/task"), 0, expected);
}

int
rig_try_open(const char *name, const char *const *settings, tcpx_engine **e)
{
	const char *all[SETTINGS_MAX] = { "TCPX_NICS=127.0.1.1", "TCPX_PORT=0",
					  "TCPX_CHANNELS=2", "TCPX_THREADS=1", "TCPX_STATS=off",
					  "TCPX_DEBUG=INFO", "TCPX_NARROW=0" };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	size_t i = 0;

	while (all[i])
		i++;
	while (settings && *settings && i < SETTINGS_MAX - 1)
		all[i++] = *settings++;
	opts.name = name;
	opts.settings = all;
	opts.log = swallow;
	return tcpx_open(&opts, e);
}

tcpx_engine *
rig_open(const char *name, const char *const *settings)
{
	tcpx_engine *e;

	assert_ok(rig_try_open(name, settings, &e));
	return e;
}

tcpx_peer *
rig_add(tcpx_engine *a, tcpx_engine *b)
{
	uint8_t blob[4096];
	size_t len = sizeof(blob);
	tcpx_peer *p;

	assert_ok(tcpx_metadata(b, blob, &len));
	assert_ok(tcpx_peer_add(a, blob, len, &p));
	return p;
}

tcpx_peer *
rig_connect(tcpx_engine *a, tcpx_engine *b)
{
	char at[64];
	tcpx_peer *p;

	snprintf(at, sizeof(at), "127.0.1.1:%u", tcpx_port(b));
	assert_ok(tcpx_peer_connect(a, at, &p));
	return p;
}

/* ---- memory ---- */

#define PERIOD ((size_t)1 << 19) /* of the pattern: so many bits of the product decide */

static uint8_t
pattern(uint64_t k, uint32_t seed)
{
	return (uint8_t)((k * 2654435761u + seed * 97) >> 11);
}

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

void
fill(uint8_t *at, size_t len, uint32_t seed)
{
	for (size_t k = 0; k < smaller(len, PERIOD); k++)
		at[k] = pattern(k, seed);
	for (size_t k = PERIOD; k < len; k += PERIOD)
		memcpy(at + k, at, smaller(len - k, PERIOD));
}

size_t
filled(const uint8_t *at, size_t len, uint32_t seed)
{
	size_t k = 0;

	while (k < smaller(len, PERIOD) && at[k] == pattern(k, seed))
		k++;
	while (k >= PERIOD && k < len && !memcmp(at + k, at, smaller(len - k, PERIOD)))
		k += smaller(len - k, PERIOD);
	while (k < len && at[k] == pattern(k, seed))
		k++;
	return k;
}

void
assert_filled(const uint8_t *at, size_t len, uint32_t seed)
{
	size_t k = filled(at, len, seed);

	if (k < len)
		fail_msg("byte %zu of %zu is %#x, %#x expected", k, len, at[k], pattern(k, seed));
}

void
mem_open(struct mem *m, tcpx_engine *owner, size_t len, unsigned access)
{
	m->at = malloc(len);
	assert_non_null(m->at);
	m->len = len;
	assert_ok(tcpx_mem_register(owner, m->at, len, access, &m->id));
}

uint64_t
mem_tell(const struct mem *m, tcpx_engine *owner, tcpx_engine *user)
{
	uint8_t blob[64];
	size_t len = sizeof(blob);
	uint64_t id;

	assert_ok(tcpx_mem_export(owner, m->id, blob, &len));
	assert_ok(tcpx_mem_import(user, blob, len, &id));
	return id;
}

void
mem_close(struct mem *m)
{
	free(m->at);
	m->at = NULL;
}

void
rig_memory(struct rig *r, size_t near, size_t far)
{
	mem_open(&r->near, r->a, near, TCPX_MEM_LOCAL);
	mem_open(&r->far, r->b, far, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	r->far.far = mem_tell(&r->far, r->b, r->a);
	fill(r->near.at, near, 1);
	fill(r->far.at, far, 2);
}

/* ---- the pair ---- */

void
rig_begin(struct rig *r, const char *const *settings_a, const char *const *settings_b)
{
	memset(r, 0, sizeof(*r));
	r->threads = thread_count();
	r->fds = fd_count();
	r->a = rig_open("anna", settings_a);
	r->b = rig_open("bert", settings_b);
	r->to_b = rig_add(r->a, r->b);
	assert_ok(tcpx_peer_wait(r->to_b, WAIT_MS));
}

void
rig_end(struct rig *r)
{
	tcpx_peer_free(r->a ? r->to_b : NULL);
	tcpx_close(r->a);
	tcpx_close(r->b);
	mem_close(&r->near);
	mem_close(&r->far);
	assert_int_equal(fd_count(), r->fds);
	assert_threads(r->threads);
}

int
rig_setup(void **state)
{
	struct rig *r = malloc(sizeof(*r));

	assert_non_null(r);
	rig_begin(r, NULL, NULL);
	*state = r;
	return 0;
}

int
rig_teardown(void **state)
{
	rig_end(*state);
	free(*state);
	return 0;
}

/* ---- doing ---- */

int
finish(tcpx_xfer *x)
{
	int rc = tcpx_wait(x, WAIT_MS);

	tcpx_xfer_free(x);
	return rc;
}

int
rig_move(struct rig *r, enum tcpx_op op, uint64_t near, uint64_t far, uint64_t len)
{
	struct tcpx_desc l = { r->near.id, near, len }, f = { r->far.far, far, len };
	tcpx_xfer *x;
	int rc;

	rc = op == TCPX_OP_WRITE ? tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x) :
				   tcpx_read(r->to_b, &l, 1, &f, 1, NULL, 0, &x);
	return rc ? rc : finish(x);
}

void
assert_note(tcpx_engine *e, const char *sender, const char *text)
{
	const char *data;
	tcpx_note *n;
	size_t len;

	assert_ok(tcpx_note_wait(e, WAIT_MS, &n));
	data = tcpx_note_data(n, &len);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(data, text, len);
	assert_string_equal(tcpx_note_sender(n), sender);
	tcpx_note_free(n);
}

void
assert_no_note(tcpx_engine *e)
{
	tcpx_note *n;

	assert_code(tcpx_note_get(e, &n), -EAGAIN);
}

int
status_of(tcpx_peer *p)
{
	struct tcpx_peer_info info = TCPX_PEER_INFO_INIT;

	assert_ok(tcpx_peer_query(p, &info));
	return info.status;
}

struct tcpx_counters
counters_of(tcpx_engine *e)
{
	struct tcpx_counters c = { .struct_size = sizeof(c) };

	assert_ok(tcpx_query(e, &c));
	return c;
}

uint64_t
length_of(tcpx_xfer *x)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;

	assert_ok(tcpx_xfer_query(x, &info));
	return info.bytes_total;
}
