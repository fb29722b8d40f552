/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handshakes that stop after HANDLES, and data connections that say three bytes: nobody looks at
 * them but once a second, and the others go on. Nor does who connects to data ports that say nothing,
 * at first or again.
 * WIRING_LOAD="SESSIONS CONNECTIONS" and DIAL_LOAD="PEERS CHANNELS" measure more of them.
 */
#include "foe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "core/session/session.h"
#include "net/registry.h"
#include "net/sock/chan.h"
#include "net/sock/wire.h"

#define LOOKS_MAX 20 /* at a channel, in the life of a handshake that stops */
#define ROUNDS    200

static atomic_uint looks;

static int
look(struct tcpx_chan_listener *cl, bool sending, struct tcpx_chan **chan)
{
	looks++;
	return tcpx_net_sock.chan_accept(cl, sending, chan);
}

static struct sockaddr_in
data_port(const struct tcpx_handles *h)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct tcpx_chan_id id;
	struct tcpx_addr addr;

	assert_true(tcpx_sock_handle_parse(h->handle[0], &addr, &id));
	memcpy(&at.sin_addr, addr.ip, 4);
	at.sin_port = htons(addr.port);
	return at;
}

/* Leaves a session that has its HANDLES and goes no further. Returns its connection. */
static int
half_a_handshake(tcpx_engine *at, uint64_t number, struct sockaddr_in *data)
{
	struct tcpx_hello hello = foe_introduction("half");
	struct foe *f = malloc(sizeof(*f));
	uint8_t payload[TCPX_FRAME_MAX];
	struct tcpx_handles h;
	struct tcpx_buf b;
	size_t len;
	int fd;

	assert_non_null(f);
	hello.incarnation = hello.session = 1000 + number;
	hello.channels = 64;
	foe_dial(f, "127.0.3.1", tcpx_port(at));
	foe_start(f, false, TCPX_START_NEW, 0);
	foe_hello(f, &hello);
	assert_true(foe_get(f, TCPX_FR_HANDLES, payload, &len));
	tcpx_buf_init_const(&b, payload, len);
	assert_int_equal(tcpx_handles_read(&b, &h), 0);
	*data = data_port(&h);
	fd = f->fd;
	free(f);
	return fd;
}

static int
three_bytes(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)to, sizeof(*to)), 0);
	assert_int_equal(send(fd, "TCX", 3, MSG_NOSIGNAL), 3);
	return fd;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* READs of 16 bytes by somebody else, and for how much of the time this process computes. */
static void
measure(const char *what, tcpx_engine *near, tcpx_peer *p, uint64_t far)
{
	struct mem mine;
	double ms[ROUNDS], wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);

	mem_open(&mine, near, 4096, TCPX_MEM_LOCAL);
	for (int i = 0; i < ROUNDS; i++) {
		struct tcpx_desc a = { mine.id, 0, 16 }, b = { far, 0, 16 };
		double from = seconds(CLOCK_MONOTONIC);
		tcpx_note *note;
		tcpx_xfer *x;

		assert_ok(tcpx_read(p, &a, 1, &b, 1, NULL, 0, &x));
		assert_ok(finish(x));
		ms[i] = (seconds(CLOCK_MONOTONIC) - from) * 1e3;
		assert_code(tcpx_note_wait(near, 5, &note), -EAGAIN);
	}
	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	qsort(ms, ROUNDS, sizeof(ms[0]), by_size);
	print_message("# %s: READ of 16 bytes median %.2f ms, p99 %.2f ms, longest %.2f ms; %.2f CPU\n",
		      what, ms[ROUNDS / 2], ms[ROUNDS * 99 / 100], ms[ROUNDS - 1], cpu / wall);
	mem_close(&mine);
}

/* ---- the side that connects ---- */

static atomic_uint dials, attempts; /* calls, and how many of them began a connection */
static atomic_int dialled = -1;     /* the latest that stands */
static atomic_bool moved;           /* handles name the silent port */
static struct tcpx_addr silent;     /* a port whose connections nobody accepts */

static int
dial(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
     const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, void **state, struct tcpx_chan **chan)
{
	int rc;

	dials++;
	attempts += !*state;
	rc = tcpx_net_sock.chan_connect(net, nic, id, handle, sending, state, chan);
	if (rc == 0)
		dialled = (*chan)->fd;
	return rc;
}

static int
listen_elsewhere(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
		 uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **cl)
{
	int rc = tcpx_net_sock.chan_listen(net, nic, id, handle, cl);

	if (moved)
		tcpx_sock_handle_format(&silent, id, handle);
	return rc;
}

static tcpx_engine *
host_open(void)
{
	static struct tcpx_net_ops ops;
	const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_CHANNELS=64", "TCPX_STATS=off",
					 "TCPX_THREADS=1", NULL };
	struct engine_env env = { .clock = tcpx_clock_system, .net = &ops };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	ops = tcpx_net_sock;
	ops.chan_accept = look;
	opts.settings = settings;
	opts.listen = "127.0.3.1:0";
	assert_ok(tcpx_engine_open(&opts, &env, &e));
	return e;
}

TEST(handshakes_that_stop_cost_nobody_his_time)
{
	const char *load = getenv("WIRING_LOAD");
	int sessions = 10, connections = 20, *fd;
	tcpx_engine *host = host_open(), *guest = open_with("guest", NULL, "TCPX_CHANNELS=1");
	struct sockaddr_in data;
	tcpx_peer *p;
	struct mem far;

	if (load)
		assert_int_equal(sscanf(load, "%d %d", &sessions, &connections), 2);
	fd = calloc((size_t)(sessions + connections), sizeof(*fd));
	p = rig_add(guest, host);
	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	mem_open(&far, host, 4096, TCPX_MEM_REMOTE_READ);
	far.far = mem_tell(&far, host, guest);
	if (load)
		measure("alone", guest, p, far.far);
	looks = 0;
	for (int i = 0; i < sessions; i++)
		fd[i] = half_a_handshake(host, (uint64_t)i, &data);
	for (int i = 0; i < connections; i++)
		fd[sessions + i] = three_bytes(&data);
	measure("beside half handshakes", guest, p, far.far);
	assert_in_range(looks, 1, (unsigned)sessions * 2 * 64 * LOOKS_MAX);
	print_message("# %d handshakes, %d connections: %u looks at their channels\n", sessions,
		      connections, looks);
	for (int i = 0; i < sessions + connections; i++)
		close(fd[i]);
	free(fd);
	mem_close(&far);
	tcpx_peer_free(p);
	tcpx_close(guest);
	tcpx_close(host);
}

static tcpx_engine *
engine_over(struct tcpx_net_ops *ops, const char *nic, const char *listen, int channels)
{
	char each_way[32];
	const char *const settings[] = { each_way, "TCPX_STATS=off", "TCPX_THREADS=1",
					 "TCPX_HANDSHAKE_MS=1500", nic, NULL };
	struct engine_env env = { .clock = tcpx_clock_system, .net = ops };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	snprintf(each_way, sizeof(each_way), "TCPX_CHANNELS=%d", channels);
	opts.settings = settings;
	opts.listen = listen;
	assert_ok(tcpx_engine_open(&opts, &env, &e));
	return e;
}

static int
silent_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(at);

	at.sin_addr.s_addr = inet_addr("127.0.1.1");
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 4096), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	silent = (struct tcpx_addr){ .family = 4, .port = ntohs(at.sin_port) };
	memcpy(silent.ip, &at.sin_addr, 4);
	return fd;
}

/* 128 connections stand, and nobody answers on them until the handshake is given up. */
TEST(ports_that_say_nothing_are_not_asked_again_and_again)
{
	static struct tcpx_net_ops mute, ours;
	const char *load = getenv("DIAL_LOAD");
	int fd = silent_port(), count = 1, channels = 64;
	tcpx_engine **host, *guest;
	tcpx_peer **p;
	double wall, cpu;

	mute = ours = tcpx_net_sock;
	moved = true;
	mute.chan_listen = listen_elsewhere;
	ours.chan_connect = dial;
	if (load)
		assert_int_equal(sscanf(load, "%d %d", &count, &channels), 2);
	host = calloc((size_t)count, sizeof(*host));
	p = calloc((size_t)count, sizeof(*p));
	for (int i = 0; i < count; i++)
		host[i] = engine_over(&mute, "TCPX_NICS=127.0.1.1", "127.0.3.1:0", channels);
	guest = engine_over(&ours, "TCPX_NICS=127.0.1.2", "127.0.3.2:0", channels);
	dials = 0;
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < count; i++)
		p[i] = rig_add(guest, host[i]);
	for (int i = 0; i < count; i++)
		assert_code(tcpx_peer_wait(p[i], WAIT_MS), TCPX_ETIMEDOUT);
	print_message("# %d peers of %d channels that say nothing: %u calls, %.2f s of CPU in %.2f s\n",
		      count, 2 * channels, dials, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu,
		      seconds(CLOCK_MONOTONIC) - wall);
	assert_in_range(dials, 1, (unsigned)(count * 2 * channels) * LOOKS_MAX);
	for (int i = 0; i < count; i++)
		tcpx_peer_free(p[i]);
	tcpx_close(guest);
	for (int i = 0; i < count; i++)
		tcpx_close(host[i]);
	free(host);
	free(p);
	close(fd);
}

/* A channel breaks, and nobody answers where it is to be opened again. */
TEST(a_channel_that_does_not_heal_is_left_alone)
{
	static struct tcpx_net_ops mute, ours;
	int fd = silent_port();
	tcpx_engine *host, *guest;
	tcpx_note *note;
	tcpx_peer *p;

	mute = ours = tcpx_net_sock;
	moved = false;
	mute.chan_listen = listen_elsewhere;
	mute.chan_accept = look;
	ours.chan_connect = dial;
	host = engine_over(&mute, "TCPX_NICS=127.0.1.1", "127.0.3.1:0", 2);
	guest = engine_over(&ours, "TCPX_NICS=127.0.1.2", "127.0.3.2:0", 2);
	p = rig_add(guest, host);
	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	moved = true;
	looks = dials = attempts = 0;
	shutdown(dialled, SHUT_RDWR);
	while (attempts < 3)
		assert_code(tcpx_note_wait(guest, 5, &note), -EAGAIN);
	print_message("# %u attempts: %u calls, %u looks\n", attempts, dials, looks);
	assert_in_range(dials, 3, 3 * LOOKS_MAX / 4);
	assert_in_range(looks, 1, 3 * LOOKS_MAX / 4);
	tcpx_peer_free(p);
	tcpx_close(guest);
	tcpx_close(host);
	close(fd);
}

int
main(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return run_cases(NULL, NULL);
}
