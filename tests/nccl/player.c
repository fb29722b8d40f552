/* SPDX-License-Identifier: Apache-2.0 */
#include "player.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define POISON    0xdb
#define ROOM_MORE 64 /* behind each slot: nobody may write there */

static const struct plug_abi *const abis[] = {
	&plug_abi_v6, &plug_abi_v7, &plug_abi_v8, &plug_abi_v9, &plug_abi_v10, &plug_abi_v11,
	&plug_abi_v12,
};

#define SUBSYS_GRAPH 0x20ul /* as with NCCL_DEBUG_SUBSYS=GRAPH: a warning is shown all the same */

static struct {
	pthread_mutex_t lock;
	char text[8192], copy[8192];
	size_t len;
} warned = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void __attribute__((format(printf, 5, 6)))
logger(enum nccl_log_level level, unsigned long subsys, const char *file, int line,
       const char *fmt, ...)
{
	va_list ap;

	if (level != NCCL_LOG_WARN || !(subsys & SUBSYS_GRAPH))
		return;
	va_start(ap, fmt);
	pthread_mutex_lock(&warned.lock);
	if (warned.len < sizeof(warned.text) - 1)
		warned.len += (size_t)vsnprintf(warned.text + warned.len,
						sizeof(warned.text) - warned.len, fmt, ap);
	if (warned.len < sizeof(warned.text) - 1)
		warned.text[warned.len++] = '\n';
	pthread_mutex_unlock(&warned.lock);
	va_end(ap);
}

const char *
player_warnings(void)
{
	pthread_mutex_lock(&warned.lock);
	memcpy(warned.copy, warned.text, sizeof(warned.copy));
	pthread_mutex_unlock(&warned.lock);
	return warned.copy;
}

static enum nccl_result
profiler(void **event, int type, void *parent, int64_t plugin_id, void *data)
{
	return NCCL_OK;
}

static void __attribute__((noreturn))
die(const char *what)
{
	const char *why = dlerror();

	fprintf(stderr, "player: %s: %s %s\n", what, why ? why : "", player_warnings());
	_Exit(2);
}

bool
player_has(const char *file, int version)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	bool has;

	if (!library)
		die("dlopen");
	has = dlsym(library, abis[version - 6]->symbol) != NULL;
	dlclose(library);
	return has;
}

void
player_open(struct player *p, const char *file, int version)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		die("dlopen");
	p->abi = abis[version - 6];
	p->ctx = NULL;
	p->table = dlsym(library, p->abi->symbol);
	if (!p->table)
		die("dlsym");
	if (p->abi->init(p->table, &p->ctx, logger, profiler))
		die("init");
	if (p->abi->devices(p->table, &p->devices) || p->devices < 1)
		die("no device");
	dlclose(library); /* as NCCL may: the plugin has to stay */
}

void
player_join(struct player *p, const struct player *first, uint64_t comm_id)
{
	const struct nccl_net_v11 *v11 = first->table;
	const struct nccl_net_v12 *v12 = first->table;
	enum nccl_result result = NCCL_OK;
	struct nccl_comm_config config = { NCCL_TRAFFIC_CLASS_UNDEF };

	*p = *first;
	p->ctx = NULL;
	if (p->abi->version == 11)
		result = v11->init(&p->ctx, comm_id, &config, logger, profiler);
	else if (p->abi->version == 12)
		result = v12->init(&p->ctx, comm_id, &config, logger, profiler);
	if (result)
		die("init");
}

void
player_close(struct player *p)
{
	if (p->abi->finalize)
		p->abi->finalize(p->table, p->ctx);
}

/* ---- one comm -------------------------------------------------------------------- */

uint32_t
flow_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Often the edges: nothing, a byte, a flag's word, all. */
static uint32_t
size_of(const struct flow *f, uint32_t i)
{
	uint32_t r = (uint32_t)(f->seed * 2654435761u) ^ (i + 1) * 40503u;
	static const uint32_t edges[] = { 0, 1, 8, 4096, 8192, 8193, 65536 };

	for (int k = 0; k < 4; k++)
		flow_random(&r);
	if (r % 4 == 0)
		return f->largest;
	if (r % 4 == 1 && edges[r / 4 % 7] <= f->largest)
		return edges[r / 4 % 7];
	return r / 4 % (r % 4 == 2 ? f->largest / 64 + 1 : f->largest + 1);
}

static uint64_t
word_of(const struct flow *f, uint32_t i, uint64_t at)
{
	return ((f->seed << 32 | i) + at * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
}

static uint8_t *
slot_of(const struct flow *f, uint32_t i)
{
	return f->buffer + (size_t)(i % STEPS) * (f->room + ROOM_MORE);
}

static void
fill(const struct flow *f, uint32_t i, uint32_t size)
{
	uint8_t *to = slot_of(f, i);

	for (uint32_t at = 0; at < size; at += 8) {
		uint64_t word = word_of(f, i, at);

		memcpy(to + at, &word, size - at < 8 ? size - at : 8);
	}
}

static bool
is_right(const struct flow *f, uint32_t i, uint32_t size)
{
	const uint8_t *from = slot_of(f, i);

	for (uint32_t at = 0; at < size; at += 8) {
		uint64_t word = word_of(f, i, at);

		if (memcmp(from + at, &word, size - at < 8 ? size - at : 8) != 0)
			return false;
	}
	return true;
}

static bool
is_poison(const uint8_t *mem, size_t len)
{
	while (len > 0 && mem[len - 1] == POISON)
		len--;
	return len == 0;
}

size_t
flow_bytes(const struct flow *f)
{
	return STEPS * (f->room + ROOM_MORE);
}

void
flow_open(struct flow *f)
{
	size_t bytes;

	f->room = f->largest + 8; /* NCCL's slots are larger than most messages */
	bytes = flow_bytes(f);
	f->buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->buffer == MAP_FAILED)
		die("memory");
	memset(f->buffer, POISON, bytes);
	f->rng = (uint32_t)f->seed * 7919u + f->sends + 1;
	f->failed = f->player->abi->reg(f->player->table, f->comm, f->buffer, bytes, NCCL_PTR_HOST,
					&f->mhandle);
	if (f->failed)
		die("regMr");
}

static void
wrong(struct flow *f, const char *what, int size)
{
	snprintf(f->what, sizeof(f->what), "%s %u of seed %llu, %d bytes of %u: %s",
		 f->sends ? "send" : "receive", f->done, (unsigned long long)f->seed, size,
		 size_of(f, f->done), what);
}

/* The GPU has filled or emptied a slot, mostly at once. */
static void
post(struct flow *f)
{
	const struct plug_abi *abi = f->player->abi;
	uint32_t i = f->posted, size = size_of(f, i);
	void **request = &f->request[i % STEPS];

	if (flow_random(&f->rng) % 4 == 0)
		return;
	*request = NULL;
	if (f->sends) {
		fill(f, i, size);
		f->failed = abi->isend(f->player->table, f->comm, slot_of(f, i), size, 0, f->mhandle,
				       request);
	} else {
		f->failed = abi->irecv(f->player->table, f->comm, slot_of(f, i), f->room, 0,
				       f->mhandle, request);
	}
	if (f->failed == NCCL_OK && *request)
		f->posted++;
}

/* Everything about a finished message, then its slot is as new. */
static void
finish(struct flow *f, int size)
{
	uint32_t want = size_of(f, f->done);
	uint8_t *slot = slot_of(f, f->done);

	if (size != (int)want)
		wrong(f, "its size", size);
	else if (!f->sends && !is_right(f, f->done, want))
		wrong(f, "its bytes", size);
	else if (!f->sends && !is_poison(slot + want, f->room + ROOM_MORE - want))
		wrong(f, "bytes behind it were written", size);
	memset(slot, POISON, f->room);
	f->done++;
}

bool
flow_step(struct flow *f)
{
	int done = 0, size = -1;

	if (f->posted < f->total && f->posted < f->done + STEPS)
		post(f);
	if (!f->failed && f->done < f->posted) {
		f->failed = f->player->abi->test(f->player->table, f->request[f->done % STEPS], &done,
						 &size);
		if (!f->failed && done)
			finish(f, size);
	}
	return !f->failed && !f->what[0] && f->done < f->total;
}

static void
close_comm(struct flow *f)
{
	const struct plug_abi *abi = f->player->abi;

	(f->sends ? abi->close_send : abi->close_recv)(f->player->table, f->comm);
}

/* As NCCL frees memory before it closes the comm. Touching it crashes; nobody else gets the place. */
static void
unmap(struct flow *f)
{
	if (mmap(f->buffer, flow_bytes(f), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		die("memory");
}

/* A crash shows a thread that touches it, and poison what the kernel writes for one. */
void
flow_abort(struct flow *f)
{
	bool stays = flow_random(&f->rng) % 2;

	f->player->abi->dereg(f->player->table, f->comm, f->mhandle);
	if (stays)
		memset(f->buffer, POISON, flow_bytes(f));
	else
		unmap(f);
	close_comm(f);
	if (stays && !is_poison(f->buffer, flow_bytes(f)))
		wrong(f, "memory was written after deregMr", 0);
	munmap(f->buffer, flow_bytes(f));
}

void
flow_close(struct flow *f)
{
	f->player->abi->dereg(f->player->table, f->comm, f->mhandle);
	unmap(f);
	close_comm(f);
	munmap(f->buffer, flow_bytes(f));
}
