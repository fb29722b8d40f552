/* SPDX-License-Identifier: Apache-2.0 */
/* Engines over the plugin provider and a plugin in software: transfers of any cut, both
 * ways. One thread runs both engines, since the plugin allows one. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "core/engine/engine.h"
#include "core/engine/step.h"
#include "fake/net_fake.h"
#include "net/registry.h"
#include "rig.h"

#define TURNS 2000000 /* far more than anything takes */
#define BYTES (3u << 20)

struct pair {
	void *library;
	struct net_fake *fake;
	struct tcpx_nic nic[2];
	tcpx_engine *a, *b;
	tcpx_peer *to_b;
	struct mem near, far;
};

static void
turn(struct pair *p)
{
	tcpx_engine_step(p->a);
	tcpx_engine_step(p->b);
}

static void
pair_begin(struct pair *p, const char *version, bool unpack, const char *window)
{
	const char *settings[] = { "TCPX_PORT=0", "TCPX_CHANNELS=3", "TCPX_THREADS=1", window,
				   "TCPX_CHUNK=100K", "TCPX_DEBUG=ERROR", NULL };
	struct engine_env env = { .clock = tcpx_clock_system, .net = &tcpx_net_plugin,
				  .manual = true, .nics = p->nic, .nic_count = 2 };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	uint8_t blob[4096];
	size_t len = sizeof(blob);
	char path[512];

	memset(p, 0, sizeof(*p));
	assert_non_null(getenv("NET_FAKE_DIR"));
	snprintf(path, sizeof(path), "%s/libnet_fake_%s.so", getenv("NET_FAKE_DIR"), version);
	setenv("TCPX_PLUGIN_PATH", path, 1);
	p->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(p->library);
	p->fake = dlsym(p->library, "net_fake");
	p->fake->device_type = unpack ? NCCL_DEVICE_UNPACK : NCCL_DEVICE_HOST;
	p->fake->nulls = 2;
	for (int i = 0; i < 2; i++) {
		p->nic[i] = (struct tcpx_nic){ .addr = { .family = 4, .prefix = 8,
							 .ip = { 127, 0, 1, (uint8_t)(i + 1) } },
					       .numa = -1, .gpu = -1 };
		snprintf(p->nic[i].name, sizeof(p->nic[i].name), "eth%d", i + 1);
	}
	opts.settings = settings;
	opts.name = "anna";
	assert_ok(tcpx_engine_open(&opts, &env, &p->a));
	opts.name = "bert";
	assert_ok(tcpx_engine_open(&opts, &env, &p->b));
	assert_ok(tcpx_metadata(p->b, blob, &len));
	assert_ok(tcpx_peer_add(p->a, blob, len, &p->to_b));
	mem_open(&p->near, p->a, BYTES, TCPX_MEM_LOCAL);
	mem_open(&p->far, p->b, BYTES, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	p->far.far = mem_tell(&p->far, p->b, p->a);
}

static void
pair_end(struct pair *p)
{
	tcpx_peer_free(p->to_b);
	tcpx_close(p->a);
	tcpx_close(p->b);
	mem_close(&p->near);
	mem_close(&p->far);
	assert_string_equal(p->fake->wrong, "");
	assert_int_equal(p->fake->open, 0);
	assert_int_equal(p->fake->registered, 0);
	p->fake->delay = p->fake->nulls = 0;
	dlclose(p->library);
}

static int
finish_by_turns(struct pair *p, tcpx_xfer *x)
{
	int rc = -EAGAIN;

	for (int i = 0; i < TURNS && rc == -EAGAIN; i++) {
		turn(p);
		rc = tcpx_test(x);
	}
	tcpx_xfer_free(x);
	return rc;
}

/* Random pieces of both sides' memory, that together have the same length. */
static uint64_t
cut(struct tcpx_rng *rng, uint64_t region, struct tcpx_desc *d, size_t n, uint64_t len)
{
	uint64_t at = 0, left = len;

	for (size_t i = 0; i < n; i++) {
		uint64_t piece = i + 1 == n ? left : tcpx_rng_below(rng, left + 1);

		d[i] = (struct tcpx_desc){ region, at, piece };
		at += piece;
		left -= piece;
	}
	return at;
}

static void
move_all(struct pair *p, int rounds)
{
	struct tcpx_rng rng = tcpx_rng_seed(5);
	struct tcpx_desc l[7], f[5];

	for (int i = 0; i < rounds; i++) {
		uint64_t len = tcpx_rng_below(&rng, 3) ? tcpx_rng_below(&rng, BYTES) :
							 tcpx_rng_below(&rng, 100);
		bool write = tcpx_rng_below(&rng, 2);
		tcpx_xfer *x;

		cut(&rng, p->near.id, l, 7, len);
		cut(&rng, p->far.far, f, 5, len);
		fill(p->near.at, BYTES, (uint32_t)i * 2);
		fill(p->far.at, BYTES, (uint32_t)i * 2 + 1);
		if (write)
			assert_ok(tcpx_write(p->to_b, l, 7, f, 5, NULL, 0, &x));
		else
			assert_ok(tcpx_read(p->to_b, l, 7, f, 5, NULL, 0, &x));
		assert_ok(finish_by_turns(p, x));
		assert_filled(write ? p->far.at : p->near.at, len, (uint32_t)i * 2 + !write);
	}
}

TEST(transfers_over_a_plugin)
{
	struct pair p;

	pair_begin(&p, "v9", false, "TCPX_WINDOW=16");
	move_all(&p, 12);
	assert_in_range(p.fake->calls[NET_FAKE_ISEND], 50, 100000);
	pair_end(&p);
}

/* The fake has pages for one message at a time. */
TEST(transfers_over_a_plugin_that_unpacks)
{
	struct pair p;

	pair_begin(&p, "v7", true, "TCPX_WINDOW=1");
	p.fake->delay = 2;
	move_all(&p, 12);
	pair_end(&p);
}

int
main(void)
{
	setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 1);
	return run_cases(NULL, NULL);
}
