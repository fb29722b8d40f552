/* SPDX-License-Identifier: Apache-2.0 */
/* What each table says of a communicator: its number, and its trafficClass as the weight of its
 * connections. Pipes are this file's own. */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/plugin/nccl_net.h"
#include "nccl/hub.h"
#include "nccl/pipe.h"
#include "nccl/say.h"

extern const struct nccl_net_v9 ncclNetPlugin_v9;
extern const struct nccl_net_v10 ncclNetPlugin_v10;
extern const struct nccl_net_v11 ncclNetPlugin_v11;
extern const struct nccl_net_v12 ncclNetPlugin_v12;

#define NICS 4

static struct communicator listened, connected;
static int waits, lines, closed;
static char first[600]; /* line of the log */
static int ends[2]; /* of a pipe and of a place to listen */

const char *
tcpx_nccl_hub_nics_by(void)
{
	return "NCCL_SOCKET_IFNAME";
}

int
tcpx_nccl_hub_nics(struct tcpx_nic_info *out, size_t *count)
{
	memset(out, 0, NICS * sizeof(*out));
	*count = NICS;
	return 0;
}

int
tcpx_nccl_hub_open(struct hub **hub)
{
	*hub = (struct hub *)&ends[0];
	return 0;
}

int
tcpx_nccl_hub_register(struct hub *h, void *addr, size_t len, uint64_t *region)
{
	return 0;
}

void
tcpx_nccl_hub_deregister(struct hub *h, uint64_t region)
{
}

int
tcpx_nccl_pipe_listen(struct hub *h, struct communicator of, uint8_t ticket[PIPE_TICKET_BYTES],
		      struct pipe_listen **l)
{
	listened = of;
	*l = (struct pipe_listen *)&ends[1];
	return 0;
}

int
tcpx_nccl_pipe_accept(struct pipe_listen *l, struct pipe **pipe)
{
	return -1;
}

void
tcpx_nccl_pipe_listen_close(struct pipe_listen *l)
{
}

int
tcpx_nccl_pipe_connect(struct hub *h, struct communicator of,
		       const uint8_t ticket[PIPE_TICKET_BYTES], struct pipe **pipe, char *why)
{
	connected = of;
	*pipe = (struct pipe *)&ends[0];
	return 0;
}

int
tcpx_nccl_pipe_ready(struct pipe *p)
{
	return waits && waits-- ? -EAGAIN : 0;
}

int
tcpx_nccl_pipe_post(struct pipe *p, uint64_t region, uint64_t offset, uint64_t len, tcpx_xfer **x)
{
	return -1;
}

int
tcpx_nccl_pipe_test(struct pipe *p, tcpx_xfer *x, uint64_t *len, char *why)
{
	return -1;
}

void
tcpx_nccl_pipe_drop(tcpx_xfer *x)
{
}

void
tcpx_nccl_pipe_close(struct pipe *p)
{
	closed++;
}

bool
tcpx_nccl_pipe_sends(const struct pipe *p)
{
	return true;
}

const char *
tcpx_nccl_pipe_peer(const struct pipe *p)
{
	return "";
}

static void __attribute__((format(printf, 5, 6)))
log_nothing(enum nccl_log_level level, unsigned long subsys, const char *file, int line,
	    const char *fmt, ...)
{
}

/* The handle of an end that has not been dialed. */
static void *
clear(uint8_t handle[NCCL_HANDLE_BYTES])
{
	return memset(handle, 0, NCCL_HANDLE_BYTES);
}

/* Listens and connects, of a communicator with this number and configuration: @listened and @connected
 * are what its pipes get of it. */
static void
play(int version, uint64_t id, struct nccl_comm_config *config)
{
	uint8_t handle[NCCL_HANDLE_BYTES] = { 0 };
	void *ctx = NULL, *listen = NULL, *comm = NULL;
	int rc = -1;

	listened = connected = (struct communicator){ 0 };
	if (version == 9)
		rc = ncclNetPlugin_v9.init(log_nothing) ||
		     ncclNetPlugin_v9.listen(0, handle, &listen) ||
		     ncclNetPlugin_v9.connect(0, clear(handle), &comm, NULL);
	else if (version == 10)
		rc = ncclNetPlugin_v10.init(log_nothing, NULL) ||
		     ncclNetPlugin_v10.listen(0, handle, &listen) ||
		     ncclNetPlugin_v10.connect(0, config, clear(handle), &comm, NULL);
	else if (version == 11)
		rc = ncclNetPlugin_v11.init(&ctx, id, config, log_nothing, NULL) || !ctx ||
		     ncclNetPlugin_v11.listen(ctx, 0, handle, &listen) ||
		     ncclNetPlugin_v11.connect(ctx, 0, clear(handle), &comm, NULL) ||
		     ncclNetPlugin_v11.finalize(ctx);
	else if (version == 12)
		rc = ncclNetPlugin_v12.init(&ctx, id, config, log_nothing, NULL) || !ctx ||
		     ncclNetPlugin_v12.listen(ctx, 0, handle, &listen) ||
		     ncclNetPlugin_v12.connect(ctx, 0, clear(handle), &comm, NULL) ||
		     ncclNetPlugin_v12.finalize(ctx);
	assert_int_equal(rc, 0);
	assert_non_null(listen);
	assert_non_null(comm);
	assert_int_equal(ncclNetPlugin_v9.close_send(comm), 0);
	assert_int_equal(ncclNetPlugin_v9.close_listen(listen), 0);
}

static void __attribute__((format(printf, 5, 6)))
count_line(enum nccl_log_level level, unsigned long subsys, const char *file, int line,
	   const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!first[0])
		vsnprintf(first, sizeof(first), fmt, ap);
	va_end(ap);
	lines++;
}

/* Runs first: tables before v11 end no context. Some versions of NCCL do this where a
 * communicator was split off. The other one goes on. */
TEST(a_context_ended_twice_takes_nothing_from_another)
{
	uint8_t handle[NCCL_HANDLE_BYTES] = { 0 }, left[NCCL_HANDLE_BYTES] = { 0 };
	void *ctx, *comm = NULL, *listen;

	assert_int_equal(ncclNetPlugin_v11.init(&ctx, 1, NULL, count_line, NULL), 0);
	assert_non_null(strstr(first, ": 4 NICs by NCCL_SOCKET_IFNAME, first"));
	waits = 2;
	closed = 0;
	assert_int_equal(ncclNetPlugin_v11.connect(ctx, 0, left, &comm, NULL), 0);
	assert_int_equal(ncclNetPlugin_v11.connect(ctx, 0, handle, &comm, NULL), 0);
	assert_null(comm);
	assert_int_equal(ncclNetPlugin_v11.finalize(ctx), 0);
	lines = 0;
	tcpx_nccl_warn("nobody is there");
	assert_int_equal(lines, 0);
	waits = 1;
	assert_int_equal(ncclNetPlugin_v11.connect(ctx, 0, handle, &comm, NULL), 0);
	assert_null(comm);
	assert_int_equal(ncclNetPlugin_v11.listen(ctx, 0, clear(left), &listen), 0);
	tcpx_nccl_warn("somebody is");
	assert_int_equal(lines, 1);
	assert_int_equal(closed, 0);
	/* one of another communicator, which ends: what nobody has asked for meanwhile goes */
	assert_int_equal(ncclNetPlugin_v11.init(&ctx, 2, NULL, count_line, NULL), 0);
	assert_int_equal(ncclNetPlugin_v11.finalize(ctx), 0);
	assert_int_equal(closed, 1);
	assert_int_equal(ncclNetPlugin_v11.connect(ctx, 0, handle, &comm, NULL), 0);
	assert_non_null(comm);
	assert_int_equal(ncclNetPlugin_v9.close_send(comm), 0);
}

/* NCCL up to 2.29 ends a context also where init() has failed. It is no communicator's. */
TEST(a_context_that_is_null_ends_nothing)
{
	void *ctx;

	assert_int_equal(ncclNetPlugin_v12.finalize(NULL), 0);
	assert_int_equal(ncclNetPlugin_v12.init(&ctx, 1, NULL, count_line, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ncclNetPlugin_v12.finalize(NULL), 0);
	lines = 0;
	tcpx_nccl_warn("a communicator is there");
	assert_int_equal(lines, 1);
	assert_int_equal(ncclNetPlugin_v12.finalize(ctx), 0);
	tcpx_nccl_warn("none is");
	assert_int_equal(lines, 1);
}

/* Contexts that ended too often are no debt of the next communicator. What was made before goes on. */
TEST(calls_after_the_last_finalize_are_answered)
{
	uint8_t handle[NCCL_HANDLE_BYTES] = { 0 };
	void *ctx, *listen, *comm, *mhandle;
	struct nccl_props_v12 props;
	int count = 0;

	assert_int_equal(ncclNetPlugin_v12.init(&ctx, 1, NULL, count_line, NULL), 0);
	assert_int_equal(ncclNetPlugin_v12.listen(ctx, 0, handle, &listen), 0);
	assert_int_equal(ncclNetPlugin_v12.connect(ctx, 0, clear(handle), &comm, NULL), 0);
	assert_int_equal(ncclNetPlugin_v12.reg(comm, handle, sizeof(handle), NCCL_PTR_HOST, &mhandle), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ncclNetPlugin_v12.finalize(ctx), 0);
	lines = closed = 0;
	assert_int_equal(ncclNetPlugin_v12.devices(&count), 0);
	assert_true(count > 0);
	assert_int_equal(ncclNetPlugin_v12.properties(count - 1, &props), 0);
	assert_int_equal(ncclNetPlugin_v12.properties(count, &props), NCCL_INVALID_ARGUMENT);
	assert_int_equal(ncclNetPlugin_v12.properties(-1, &props), NCCL_INVALID_ARGUMENT);
	assert_int_equal(ncclNetPlugin_v12.dereg(comm, mhandle), 0);
	assert_int_equal(ncclNetPlugin_v12.close_send(comm), 0);
	assert_int_equal(closed, 1);
	assert_int_equal(ncclNetPlugin_v12.close_listen(listen), 0);
	tcpx_nccl_warn("the logger may be gone");
	assert_int_equal(lines, 0);
	assert_int_equal(ncclNetPlugin_v12.init(&ctx, 2, NULL, count_line, NULL), 0);
	assert_int_equal(ncclNetPlugin_v12.listen(ctx, 0, handle, &listen), 0);
	tcpx_nccl_warn("this one is there");
	assert_int_equal(lines, 1);
	assert_int_equal(ncclNetPlugin_v12.close_listen(listen), 0);
	assert_int_equal(ncclNetPlugin_v12.finalize(ctx), 0);
	tcpx_nccl_warn("and gone");
	assert_int_equal(lines, 1);
}

/* NULL as nothing at all: not closed, not deregistered. */
TEST(nothing_is_closed_without_an_error)
{
	closed = 0;
	assert_int_equal(ncclNetPlugin_v12.close_send(NULL), 0);
	assert_int_equal(ncclNetPlugin_v12.close_recv(NULL), 0);
	assert_int_equal(ncclNetPlugin_v12.close_listen(NULL), 0);
	assert_int_equal(closed, 0);
}

TEST(a_class_is_a_weight)
{
	static const struct {
		int class;
		uint32_t weight;
	} of[] = { { NCCL_TRAFFIC_CLASS_UNDEF, 1 }, { 0, 1 }, { 1, 1 }, { 4, 4 }, { 16, 16 },
		   { 17, 16 }, { 255, 16 }, { INT32_MIN, 1 }, { INT32_MAX, 16 } };

	for (int version = 9; version <= 12; version++) {
		for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
			struct nccl_comm_config config = { of[i].class };

			play(version, 1, &config);
			assert_int_equal(connected.weight, version == 9 ? 1 : of[i].weight);
		}
		play(version, 1, NULL);
		assert_int_equal(connected.weight, 1);
	}
}

/* Tables before v11 do not say which communicator it is. */
TEST(both_ends_know_the_communicator)
{
	static const uint64_t ids[] = { 1, 0xd1ce, 0xfedcba9876543210, UINT64_MAX, 0,
					0xff00000000000000 };
	struct nccl_comm_config config = { 7 };

	for (int version = 9; version <= 12; version++)
		for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
			uint64_t id = version < 11 ? 0 : ids[i] % (1ull << 56);

			play(version, ids[i], &config);
			assert_int_equal(listened.id, id);
			assert_int_equal(connected.id, id);
			assert_int_equal(connected.weight, version == 9 ? 1 : 7);
		}
}

/* Each line goes nowhere, that of the library and those of failures too. */
TEST(a_logger_may_be_absent)
{
	uint8_t handle[NCCL_HANDLE_BYTES] = { 0 };
	void *ctx, *comm, *mhandle;

	assert_int_equal(ncclNetPlugin_v9.init(NULL), 0);
	assert_int_equal(ncclNetPlugin_v12.init(&ctx, 1, NULL, NULL, NULL), 0);
	assert_int_equal(ncclNetPlugin_v12.connect(ctx, 0, handle, &comm, NULL), 0);
	assert_int_not_equal(ncclNetPlugin_v12.reg(comm, handle, sizeof(handle), NCCL_PTR_CUDA, &mhandle), 0);
	tcpx_nccl_sink(NULL, 1, "a line of the library");
	tcpx_nccl_info("no line %d", 1);
	assert_int_equal(ncclNetPlugin_v12.close_send(comm), 0);
	assert_int_equal(ncclNetPlugin_v12.finalize(ctx), 0);
}
