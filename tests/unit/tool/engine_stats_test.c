/* SPDX-License-Identifier: Apache-2.0 */
/* An engine's report, as tcpx top asks for it: complete, true, and at no cost
 * when nobody asks. */
#include "../core/rig.h"
#include "stats_bed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "net/stats_port.h"
#include "measure/top/top.h"

static double
total(const json_t *engine, const char *key)
{
	return top_number(json_object_get(engine, "totals"), key);
}

static double
sum(const json_t *list, const char *key)
{
	double v = 0;
	json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
		v += top_number(o, key);
	return v;
}

TEST_WITH(snapshot_says_what_was_moved, bed_setup, bed_teardown)
{
	struct bed *b = *state;
	struct rig r;
	const json_t *anna, *bert, *session;
	json_t *doc;

	rig_begin(&r, b->settings, b->settings);
	rig_memory(&r, 4 << 20, 4 << 20);
	assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, 4 << 20));
	assert_ok(rig_move(&r, TCPX_OP_READ, 0, 0, 1 << 20));
	doc = bed_look(b);
	anna = engine_named(doc, "anna");
	bert = engine_named(doc, "bert");
	assert_non_null(anna);
	assert_non_null(bert);
	assert_int_equal(top_number(anna, "pid"), getpid());
	assert_string_equal(top_string(anna, "provider"), "sock");
	assert_int_equal(total(anna, "bytes_tx"), 4 << 20);
	assert_int_equal(total(anna, "bytes_rx"), 1 << 20);
	assert_int_equal(total(anna, "xfers_done"), 2);
	assert_int_equal(sum(top_list(bert, "nics"), "bytes_rx"), 4 << 20);
	assert_int_equal(json_array_size(top_list(anna, "sessions")), 1);
	session = json_array_get(top_list(anna, "sessions"), 0);
	assert_string_equal(top_string(session, "peer"), "bert");
	assert_string_equal(top_string(session, "state"), "open");
	assert_int_equal(json_array_size(top_list(session, "channels")), 4);
	assert_int_equal(sum(top_list(session, "channels"), "bytes"), 5 << 20);
	assert_int_equal(json_array_size(top_list(anna, "threads")), 1);
	assert_true(top_number(json_array_get(top_list(anna, "threads"), 0), "tid") > 0);
	json_decref(doc);
	rig_end(&r);
}

/* Other channels of the NIC are listed, and rest until there is load. */
TEST_WITH(a_nic_has_the_channels_that_are_up, bed_setup, bed_teardown)
{
	struct bed *b = *state;
	int up = 0, rests = 0;
	const json_t *anna, *channels;
	json_t *doc, *c;
	struct rig r;
	size_t i;

	b->settings[1] = "TCPX_CHANNELS=4";
	b->settings[2] = "TCPX_NARROW=1";
	rig_begin(&r, b->settings, b->settings);
	doc = bed_look(b);
	anna = engine_named(doc, "anna");
	channels = top_list(json_array_get(top_list(anna, "sessions"), 0), "channels");
	json_array_foreach(channels, i, c) {
		up += json_is_true(json_object_get(c, "up"));
		rests += json_is_true(json_object_get(c, "rests"));
	}
	assert_int_equal(up, 2);
	assert_int_equal(rests, 6);
	assert_int_equal(sum(top_list(anna, "nics"), "channels"), 2);
	json_decref(doc);
	rig_end(&r);
}

TEST_WITH(many_channels_and_odd_names_are_well_formed, bed_setup, bed_teardown)
{
	static const char *const odd = "\"\\ \xff\xc3\xa9\xed\xa0\x80 }";
	struct bed *b = *state;
	tcpx_engine *a, *z, *o;
	struct rlimit files;
	tcpx_peer *p;
	const json_t *e, *session;
	json_t *doc;
	int rc;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < 4096) {
		print_message("# skipped: fewer than 4096 descriptors\n");
		skip();
	}
	b->settings[1] = "TCPX_CHANNELS=64";
	b->settings[2] = "TCPX_WINDOW=1";
	o = rig_open(odd, b->settings);
	a = rig_open("anna", b->settings);
	z = rig_open("zoe", b->settings);
	p = rig_add(z, a);
	rc = tcpx_peer_wait(p, WAIT_MS);
	assert_ok(rc);
	doc = bed_look(b);
	assert_int_equal(json_array_size(top_list(doc, "engines")), 3);
	e = engine_named(doc, "zoe");
	session = json_array_get(top_list(e, "sessions"), 0);
	assert_int_equal(json_array_size(top_list(session, "channels")), 128);
	/* an e with an accent stands, other bytes beyond ASCII one by one */
	assert_non_null(engine_named(doc, "\"\\ \xc3\xbf\xc3\xa9\xc3\xad\xc2\xa0\xc2\x80 }"));
	json_decref(doc);
	tcpx_peer_free(p);
	tcpx_close(a);
	tcpx_close(z);
	tcpx_close(o);
}

struct load {
	struct rig *r;
	_Atomic bool stop;
	int rc;
	unsigned moved;
};

static void *
keep_moving(void *arg)
{
	struct load *l = arg;

	while (!atomic_load(&l->stop) && l->rc == 0) {
		l->rc = rig_move(l->r, TCPX_OP_WRITE, 0, 0, 1 << 20);
		l->moved++;
	}
	return NULL;
}

TEST_WITH(counters_only_rise_under_load, bed_setup, bed_teardown)
{
	struct bed *b = *state;
	json_t *doc = NULL, *before = NULL;
	struct load l = { .rc = 0 };
	struct rig r;
	pthread_t t;
	int i;

	b->settings[1] = "TCPX_THREADS=3"; /* loop 0 reports other loops' channels */
	b->settings[2] = "TCPX_CHANNELS=6";
	rig_begin(&r, b->settings, b->settings);
	rig_memory(&r, 1 << 20, 1 << 20);
	l.r = &r;
	assert_int_equal(pthread_create(&t, NULL, keep_moving, &l), 0);
	/* until enough was moved to be seen */
	for (i = 0; i < 20 || total(engine_named(doc, "bert"), "bytes_rx") < 8e6; i++) {
		json_decref(before);
		before = doc;
		doc = bed_look(b);
		assert_non_null(engine_named(doc, "anna"));
		if (!before)
			continue;
		assert_true(total(engine_named(doc, "anna"), "bytes_tx") >=
			    total(engine_named(before, "anna"), "bytes_tx"));
		top_rates(doc, before);
		assert_true(top_number(engine_named(doc, "bert"), "interval_s") > 0);
	}
	atomic_store(&l.stop, true);
	pthread_join(t, NULL);
	assert_ok(l.rc);
	json_decref(before);
	json_decref(doc);
	rig_end(&r);
}

TEST_WITH(sums_of_a_nic_outlive_channels, bed_setup, bed_teardown)
{
	struct bed *b = *state;
	struct rig r;
	double sent;
	json_t *doc;

	b->settings[1] = "TCPX_LINGER_MS=0";
	rig_begin(&r, b->settings, b->settings);
	rig_memory(&r, 1 << 20, 1 << 20);
	assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, 1 << 20));
	do { /* the last acknowledgements may come behind the news that all is done */
		doc = bed_look(b);
		sent = sum(top_list(engine_named(doc, "anna"), "nics"), "bytes_tx");
		json_decref(doc);
	} while (sent < 1 << 20);
	tcpx_close(r.b);
	r.b = NULL;
	do { /* the session goes when the loop hears of it */
		doc = bed_look(b);
		sent = sum(top_list(engine_named(doc, "anna"), "nics"), "bytes_tx");
		assert_int_equal(sent, 1 << 20);
		if (!json_array_size(top_list(engine_named(doc, "anna"), "sessions")))
			break;
		json_decref(doc);
	} while (true);
	json_decref(doc);
	rig_end(&r);
}

/* ---- no port ---- */

TEST_WITH(engine_works_without, bed_setup, bed_teardown)
{
	static const char *const off[] = { "TCPX_STATS=off", NULL };
	static const char *const bad[] = { "TCPX_STATS=here", NULL };
	struct bed *b = *state;
	tcpx_engine *e;
	DIR *d;
	int n = 0;

	assert_int_equal(chmod(b->dir, 0777), 0); /* others may write: no place for a socket */
	e = rig_open("x", b->settings);
	d = opendir(b->dir);
	while (readdir(d))
		n++;
	closedir(d);
	assert_int_equal(n, 2);
	tcpx_close(e);
	e = rig_open("x", off);
	tcpx_close(e);
	assert_code(rig_try_open("x", bad, &e), TCPX_ECONFIG);
}

/* ---- rest ---- */

/* Threads in a wait of this binary that only an event or a time far off will end. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned asleep;
} rest = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

int __real_epoll_wait(int fd, struct epoll_event *ready, int max, int timeout);
int __wrap_epoll_wait(int fd, struct epoll_event *ready, int max, int timeout);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static void
count_asleep(int change)
{
	pthread_mutex_lock(&rest.lock);
	rest.asleep += (unsigned)change;
	pthread_cond_broadcast(&rest.changed);
	pthread_mutex_unlock(&rest.lock);
}

int
__wrap_epoll_wait(int fd, struct epoll_event *ready, int max, int timeout)
{
	int n = __real_epoll_wait(fd, ready, max, 0);

	if (n != 0 || timeout == 0)
		return n;
	if (timeout > 0 && timeout < 10)
		return __real_epoll_wait(fd, ready, max, timeout);
	count_asleep(1);
	n = __real_epoll_wait(fd, ready, max, timeout);
	count_asleep(-1);
	return n;
}

/* This kernel has no epoll_pwait2(), so that every wait is seen above. */
long
__wrap_syscall(long number, ...)
{
	long a[6];
	va_list args;

	if (number == SYS_epoll_pwait2) {
		errno = ENOSYS;
		return -1;
	}
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_epoll_pwait)
		return __wrap_epoll_wait((int)a[0], (struct epoll_event *)a[1], (int)a[2], (int)a[3]);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* All threads of the engine find nothing to do. One that is woken for ever never does. */
static void
assert_rests(tcpx_engine *e)
{
	struct tcpx_thread_info t[8];
	struct timespec limit;
	size_t n = 8;
	int rc = 0;

	assert_ok(tcpx_query_threads(e, t, sizeof(t[0]), &n));
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += WAIT_MS / 1000;
	pthread_mutex_lock(&rest.lock);
	while (rest.asleep < n && rc == 0)
		rc = pthread_cond_timedwait(&rest.changed, &rest.lock, &limit);
	pthread_mutex_unlock(&rest.lock);
	assert_int_equal(rc, 0);
}

TEST_WITH(unasked_engine_rests, bed_setup, bed_teardown)
{
	struct bed *b = *state;
	tcpx_engine *e = rig_open("idle", b->settings);
	json_t *doc;

	assert_rests(e);
	doc = bed_look(b);
	json_decref(doc);
	assert_rests(e);
	tcpx_close(e);
}

TEST_WITH(no_descriptor_left_is_no_spin, bed_setup, bed_teardown)
{
	struct bed *b = *state;
	tcpx_engine *e = rig_open("full", b->settings);
	struct rlimit old, now;
	char path[TCPX_STATS_PATH + 280], *text;
	struct dirent *entry;
	int fd, conn;
	size_t len;
	json_t *doc;
	DIR *d;

	d = opendir(b->dir);
	path[0] = '\0';
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.')
			snprintf(path, sizeof(path), "%s/%s", b->dir, entry->d_name);
	closedir(d);
	assert_string_not_equal(path, "");

	/* one descriptor is left, the lowest free one: the asker takes it */
	fd = open("/dev/null", O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	getrlimit(RLIMIT_NOFILE, &old);
	now = old;
	now.rlim_cur = (rlim_t)fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	conn = tcpx_stats_ask(path);
	if (conn >= 0)
		assert_int_equal(tcpx_stats_take(conn, WAIT_MS, &text, &len), -EACCES);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(conn >= 0);
	assert_rests(e);
	doc = bed_look(b); /* and then it answers again */
	assert_non_null(engine_named(doc, "full"));
	json_decref(doc);
	tcpx_close(e);
}
