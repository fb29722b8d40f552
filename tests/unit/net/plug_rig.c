/* SPDX-License-Identifier: Apache-2.0 */
/* See plug_rig.h. */
#include "plug_rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static char last[1024];
static unsigned lines;

static void
keep(void *arg, int level, const char *line)
{
	lines++;
	snprintf(last, sizeof(last), "%s", line);
}

unsigned
rig_log_lines(void)
{
	return lines;
}

const char *
rig_log_last(void)
{
	return last;
}

void
rig_log_clear(void)
{
	lines = 0;
	last[0] = '\0';
}

void
rig_log_start(void)
{
	tcpx_log_sink(keep, NULL);
}

static void
copy_file(const char *from, const char *to)
{
	char block[65536];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t got;

	assert_non_null(in);
	assert_non_null(out);
	while ((got = fread(block, 1, sizeof(block), in)) > 0)
		assert_int_equal(fwrite(block, 1, got, out), got);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

void
rig_copy(struct rig *r, const char *from, const char *name)
{
	const char *tmp = getenv("TMPDIR");
	char place[128];

	memset(r, 0, sizeof(*r));
	snprintf(place, sizeof(place), "%s/plugXXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(place));
	snprintf(r->path, sizeof(r->path), "%s/%s", place, name);
	copy_file(from, r->path);
	r->library = dlopen(r->path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(r->library);
	rig_log_clear();
}

void
rig_take(struct rig *r, const char *version, const char *name)
{
	const char *dir = getenv("NET_FAKE_DIR");
	char from[512];

	assert_non_null(dir);
	snprintf(from, sizeof(from), "%s/libnet_fake_%s.so", dir, version);
	rig_copy(r, from, name);
	r->fake = dlsym(r->library, "net_fake");
}

/* A plugin's threads may have to do their part first. */
static uint64_t
deadline(void)
{
	return tcpx_clock_now(&tcpx_clock_system) + 60 * TCPX_SEC;
}

static bool
is_over(uint64_t end)
{
	sched_yield();
	return tcpx_clock_now(&tcpx_clock_system) > end;
}

void
rig_connect(struct rig *r)
{
	uint8_t handle[PLUG_HANDLE_BYTES];
	struct plug_listen *l = NULL;
	uint64_t end = deadline();
	int up = -EAGAIN, down = -EAGAIN;

	r->tx = r->rx = NULL;
	assert_int_equal(plug_listen(r->plug, 0, handle, &l), 0);
	do {
		if (up == -EAGAIN)
			up = plug_connect(r->plug, 0, handle, &r->tx);
		if (down == -EAGAIN)
			down = plug_accept(l, &r->rx);
	} while ((up == -EAGAIN || down == -EAGAIN) && !is_over(end));
	assert_int_equal(up, 0);
	assert_int_equal(down, 0);
	plug_listen_close(l);
	if (plug_comm_unpacks(r->rx))
		plug_comm_device_is(r->rx, plug_comm_device(r->rx));
	else
		assert_null(plug_comm_device(r->rx));
}

void
rig_register(struct rig *r)
{
	r->tx_mem = aligned_alloc(4096, RIG_MEM);
	r->rx_mem = aligned_alloc(4096, RIG_MEM);
	assert_int_equal(plug_reg(r->tx, r->tx_mem, RIG_MEM, r->gpu, &r->tx_mr), 0);
	if (r->fake)
		assert_int_equal(r->fake->size, RIG_MEM);
	assert_int_equal(plug_reg(r->rx, r->rx_mem, RIG_MEM, r->gpu, &r->rx_mr), 0);
}

void
rig_open(struct rig *r, const char *version, bool unpack)
{
	rig_take(r, version, "libfake.so");
	r->gpu = true;
	r->fake->device_type = unpack ? NCCL_DEVICE_UNPACK : NCCL_DEVICE_HOST;
	assert_int_equal(plug_open(r->path, &r->plug), 0);
	rig_connect(r);
	rig_register(r);
}

void
rig_disconnect(struct rig *r)
{
	plug_comm_close(r->tx);
	plug_comm_close(r->rx);
	free(r->tx_mem);
	free(r->rx_mem);
}

void
rig_close(struct rig *r)
{
	char *slash = strrchr(r->path, '/');

	if (r->tx_mem)
		rig_disconnect(r);
	plug_close(r->plug);
	if (r->fake) {
		assert_string_equal(r->fake->wrong, "");
		assert_int_equal(r->fake->open, 0);
		assert_int_equal(r->fake->registered, 0);
	}
	dlclose(r->library);
	unlink(r->path);
	*slash = '\0';
	rmdir(r->path);
}

int
rig_test(struct plug_comm *c, struct plug_request *req, uint32_t *len)
{
	uint64_t end = deadline();
	int rc;

	do
		rc = plug_test(c, req, len);
	while (rc == -EAGAIN && !is_over(end));
	return rc;
}

static void
gather(struct rig *r, struct plug_request *req, uint32_t len)
{
	static struct plug_frag frag[PLUG_FRAGS_MAX];
	uint32_t count = 0;

	assert_int_equal(plug_frags(r->rx, req, frag, &count), 0);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(frag[i].dst_off + frag[i].len <= len);
		memcpy(r->rx_mem + frag[i].dst_off, (void *)(uintptr_t)frag[i].src, frag[i].len);
	}
}

void
rig_message(struct rig *r, uint32_t len, unsigned seed)
{
	struct plug_request *tx, *rx;
	uint32_t got = 1, sent = 1;
	uint64_t end = deadline();
	int up = -EAGAIN, down = -EAGAIN;

	for (uint32_t i = 0; i < len; i++)
		r->tx_mem[i] = (uint8_t)(i * 7 + i / 4096 + seed);
	memset(r->rx_mem, 0x55, len);
	assert_int_equal(plug_recv(r->rx, r->rx_mem, RIG_MEM / 2, 1, r->rx_mr, &rx), 0);
	assert_int_equal(plug_send(r->tx, r->tx_mem, len, 2, r->tx_mr, &tx), 0);
	do { /* each may wait for the other */
		if (up == -EAGAIN)
			up = plug_test(r->tx, tx, &sent);
		if (down == -EAGAIN)
			down = plug_test(r->rx, rx, &got);
	} while ((up == -EAGAIN || down == -EAGAIN) && !is_over(end));
	assert_int_equal(up, 0);
	assert_int_equal(down, 0);
	assert_int_equal(sent, len);
	assert_int_equal(got, len);
	if (plug_comm_unpacks(r->rx))
		gather(r, rx, len);
	assert_memory_equal(r->rx_mem, r->tx_mem, len);
	assert_int_equal(plug_consumed(r->rx, rx), 0);
}
