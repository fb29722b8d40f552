/* SPDX-License-Identifier: Apache-2.0 */
/* A communicator's trafficClass as the weight of its connections, by each table that has one. Pipes
 * are this file's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/plugin/nccl_net.h"
#include "nccl/pipe.h"

extern const struct nccl_net_v9 ncclNetPlugin_v9;
extern const struct nccl_net_v10 ncclNetPlugin_v10;
extern const struct nccl_net_v11 ncclNetPlugin_v11;
extern const struct nccl_net_v12 ncclNetPlugin_v12;

#define NICS 4

static uint32_t last_weight;
static int ends[2]; /* of a pipe and of a place to listen */

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
tcpx_nccl_pipe_listen(struct hub *h, uint8_t ticket[PIPE_TICKET_BYTES], struct pipe_listen **l)
{
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
tcpx_nccl_pipe_connect(struct hub *h, const uint8_t ticket[PIPE_TICKET_BYTES], uint32_t weight,
		       struct pipe **pipe)
{
	last_weight = weight;
	*pipe = (struct pipe *)&ends[0];
	return 0;
}

int
tcpx_nccl_pipe_ready(struct pipe *p)
{
	return 0;
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

/* What a connection's weight is, of a communicator of that class. */
static uint32_t
weight(int version, struct nccl_comm_config *config)
{
	uint8_t handle[NCCL_HANDLE_BYTES] = { 0 };
	void *ctx = NULL, *comm = NULL;
	int rc = -1;

	last_weight = 0;
	if (version == 9)
		rc = ncclNetPlugin_v9.init(log_nothing) ||
		     ncclNetPlugin_v9.connect(0, handle, &comm, NULL);
	else if (version == 10)
		rc = ncclNetPlugin_v10.init(log_nothing, NULL) ||
		     ncclNetPlugin_v10.connect(0, config, handle, &comm, NULL);
	else if (version == 11)
		rc = ncclNetPlugin_v11.init(&ctx, 1, config, log_nothing, NULL) || !ctx ||
		     ncclNetPlugin_v11.connect(ctx, 0, handle, &comm, NULL) ||
		     ncclNetPlugin_v11.finalize(ctx);
	else if (version == 12)
		rc = ncclNetPlugin_v12.init(&ctx, 1, config, log_nothing, NULL) || !ctx ||
		     ncclNetPlugin_v12.connect(ctx, 0, handle, &comm, NULL) ||
		     ncclNetPlugin_v12.finalize(ctx);
	assert_int_equal(rc, 0);
	assert_non_null(comm);
	assert_int_equal(ncclNetPlugin_v9.close_send(comm), 0);
	return last_weight;
}

static void
a_class_is_a_weight(void **state)
{
	static const struct {
		int class;
		uint32_t weight;
	} of[] = { { NCCL_TRAFFIC_CLASS_UNDEF, 1 }, { 0, 1 }, { 1, 1 }, { 4, 4 }, { 16, 16 },
		   { 17, 16 }, { 255, 16 }, { INT32_MIN, 1 }, { INT32_MAX, 16 } };

	for (int version = 9; version <= 12; version++) {
		for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
			struct nccl_comm_config config = { of[i].class };

			assert_int_equal(weight(version, &config), version == 9 ? 1 : of[i].weight);
		}
		assert_int_equal(weight(version, NULL), 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_class_is_a_weight),
	};

	return cmocka_run_group_tests_name("nccl/weight", tests, NULL, NULL);
}
