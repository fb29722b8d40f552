/* SPDX-License-Identifier: Apache-2.0 */
/* A process that is killed amid reads and writes: the other one, of the same host, ends for
 * that reason. */
#include "rig.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/registry.h"

#define KILLS 4
#define LEN   (4u << 20)
#define DEEP  8	      /* transfers in flight, of both kinds in turn */
#define FIRST (3 * DEEP) /* so many end before the kill */

struct introduction {
	size_t peer_len, mem_len;
	uint8_t peer[TCPX_METADATA_MAX], mem[TCPX_BLOB_MAX];
};

struct process {
	pid_t pid;
	int says;
};

/* Says who it is, and serves until it is killed. */
static void
victim(int says)
{
	struct introduction intro = { .peer_len = sizeof(intro.peer), .mem_len = sizeof(intro.mem) };
	tcpx_engine *e;
	struct mem m;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	e = rig_open("bert", NULL);
	mem_open(&m, e, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	assert_ok(tcpx_metadata(e, intro.peer, &intro.peer_len));
	assert_ok(tcpx_mem_export(e, m.id, intro.mem, &intro.mem_len));
	assert_int_equal(write(says, &intro, sizeof(intro)), sizeof(intro));
	for (;;)
		pause();
}

/* Before this process has an engine, and threads. */
static void
start(struct process *p)
{
	int pipe_fds[2];

	assert_int_equal(pipe(pipe_fds), 0);
	p->says = pipe_fds[0];
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0)
		victim(pipe_fds[1]);
	close(pipe_fds[1]);
}

static void
post(tcpx_peer *peer, const struct mem *near, uint64_t far_id, int k, tcpx_xfer **x)
{
	struct tcpx_desc d = { near->id, 0, LEN }, far = { far_id, 0, LEN };

	if (k % 2)
		assert_ok(tcpx_read(peer, &d, 1, &far, 1, NULL, 0, x));
	else
		assert_ok(tcpx_write(peer, &d, 1, &far, 1, NULL, 0, x));
}

/* All are in flight when it is killed, and all of those end with its death. */
static void
outlive(tcpx_engine *e, const struct mem *near, struct process *p)
{
	struct tcpx_peer_info info = TCPX_PEER_INFO_INIT;
	struct introduction intro;
	tcpx_xfer *x[DEEP];
	tcpx_peer *peer;
	uint64_t far_id, killed_ns;

	assert_int_equal(read(p->says, &intro, sizeof(intro)), sizeof(intro));
	assert_ok(tcpx_peer_add(e, intro.peer, intro.peer_len, &peer));
	assert_ok(tcpx_mem_import(e, intro.mem, intro.mem_len, &far_id));
	for (int k = 0; k < DEEP; k++)
		post(peer, near, far_id, k, &x[k]);
	for (int k = 0; k < FIRST; k++) {
		assert_ok(tcpx_wait(x[k % DEEP], WAIT_MS));
		tcpx_xfer_free(x[k % DEEP]);
		post(peer, near, far_id, k, &x[k % DEEP]);
	}
	killed_ns = tcpx_clock_now(&tcpx_clock_system);
	assert_int_equal(kill(p->pid, SIGKILL), 0);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	for (int k = 0; k < DEEP; k++) {
		int rc = tcpx_wait(x[k], -1);

		if (rc != 0) /* it may have been done before */
			assert_code(rc, TCPX_EPEERGONE);
		tcpx_xfer_free(x[k]);
	}
	assert_code(tcpx_peer_wait(peer, -1), TCPX_EPEERGONE);
	print_message("# gone %llu ms after the kill\n", (unsigned long long)
		      (tcpx_clock_now(&tcpx_clock_system) - killed_ns) / TCPX_MS);
	assert_ok(tcpx_peer_query(peer, &info));
	assert_string_equal(info.cause, "peer has gone: no process of this host listens at its addresses");
	tcpx_peer_free(peer);
	close(p->says);
}

TEST(a_process_that_is_killed_amid_reads_and_writes_has_gone)
{
	struct tcpx_addr nowhere = { .family = 4, .port = 1, .ip = { 127, 0, 1, 1 } };
	const char *more = getenv("KILLS");
	int kills = more ? atoi(more) : KILLS;
	struct process *p;
	tcpx_engine *e;
	struct mem near;

	if (tcpx_net_sock.listens(&nowhere) < 0) {
		print_message("# skipped: this kernel does not say who listens\n");
		skip();
	}
	p = calloc((size_t)kills, sizeof(*p));
	for (int i = 0; i < kills; i++)
		start(&p[i]);
	e = rig_open("anna", NULL);
	mem_open(&near, e, LEN, TCPX_MEM_LOCAL);
	for (int i = 0; i < kills; i++)
		outlive(e, &near, &p[i]);
	mem_close(&near);
	tcpx_close(e);
	free(p);
}
