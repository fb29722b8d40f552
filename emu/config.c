/* SPDX-License-Identifier: Apache-2.0 */
/* Reading variables, with a message for each kind of mistake. */
#include "emu/config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "emu/bounds.h"
#include "emu/say.h"

#define NCCL_TCPX "NCCL_GPUDIRECTTCPX_"

extern char **environ;

/* The emulator's own; TOPOLOGY, NICS and FAULT are read elsewhere. */
static const char *const known[] = {
	"NICS", "TOPOLOGY", "MODE", "FAULT", "SEED", "GPU", "MEMORY", "POOL", "POISON", "DELAYS",
	"CONNECT_MS", "PAGE_LOSS", "STALL_MS",
};

static bool
number(const char *name, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *text = getenv(name);
	char *end;
	uint64_t value;

	if (!text || !*text)
		return true;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *end || end == text || value < min || value > max) {
		emu_warn("invalid %s=%s: a number from %llu to %llu", name, text,
			 (unsigned long long)min, (unsigned long long)max);
		return false;
	}
	*out = value;
	return true;
}

/* Like the real plugin: the digits that a value begins with count, and one out of range is reported
 * and the default stays. */
static uint32_t
param(const char *name, int64_t min, int64_t max, uint32_t other)
{
	const char *text = getenv(name);
	char *end;
	long long value;

	if (!text || !*text)
		return other;
	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno || end == text || value < min || value > max) {
		emu_warn("invalid %s=%s: a number from %lld to %lld; restored to default %u", name, text,
			 (long long)min, (long long)max, other);
		return other;
	}
	if (*end)
		emu_warn("%s=%s is read as %lld", name, text, value);
	return (uint32_t)value;
}

static bool
word(const char *name, const char *const *words, unsigned count, int *out)
{
	const char *text = getenv(name);

	if (!text || !*text)
		return true;
	for (unsigned i = 0; i < count; i++) {
		if (!strcasecmp(text, words[i])) {
			*out = (int)i;
			return true;
		}
	}
	emu_warn("invalid %s=%s: allowed: %s%s%s%s%s%s%s", name, text, words[0],
		 count > 1 ? ", " : "", count > 1 ? words[1] : "", count > 2 ? ", " : "",
		 count > 2 ? words[2] : "", count > 3 ? ", " : "", count > 3 ? words[3] : "");
	return false;
}

static bool
names_good(void)
{
	bool good = true;

	for (char **env = environ; *env; env++) {
		const char *name = *env + 9;
		bool found = false;

		if (strncmp(*env, "TCPX_EMU_", 9))
			continue;
		for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			found |= !strncmp(name, known[i], strlen(known[i])) &&
				 name[strlen(known[i])] == '=';
		if (!found)
			emu_warn("%.60s: no such variable", *env);
		good &= found;
	}
	return good;
}

static bool
own_read(struct emu_config *c)
{
	static const char *const modes[] = { "faithful", "strict" };
	static const char *const memories[] = { "auto", "gpu", "pinned", "host" };
	static const char *const delays[] = { "none", "real" };
	static const char *const off_on[] = { "0", "1" };
	static const char *const losses[] = { "warn", "abort" };
	int mode = 0, memory = 0, delay = 0, poison = 1, loss = 0;
	uint64_t gpu = 0, pool = 32768, connect_ms = 20000, stall_ms = 5000;
	bool good = names_good();

	good &= word("TCPX_EMU_MODE", modes, 2, &mode);
	good &= word("TCPX_EMU_MEMORY", memories, 4, &memory);
	good &= word("TCPX_EMU_DELAYS", delays, 2, &delay);
	good &= word("TCPX_EMU_POISON", off_on, 2, &poison);
	good &= word("TCPX_EMU_PAGE_LOSS", losses, 2, &loss);
	good &= number("TCPX_EMU_SEED", 0, UINT64_MAX, &c->seed);
	good &= number("TCPX_EMU_GPU", 0, EMU_GPUS_MAX - 1, &gpu);
	/* fragment offsets have 32 bits */
	good &= number("TCPX_EMU_POOL", 1, 1u << 20, &pool);
	good &= number("TCPX_EMU_CONNECT_MS", 1, 3600000, &connect_ms);
	good &= number("TCPX_EMU_STALL_MS", 1, 3600000, &stall_ms);
	c->strict = mode == 1;
	c->page_loss_aborts = loss == 1;
	c->memory = (enum emu_memory)memory;
	c->delays = c->steering_check = delay == 1;
	c->poison = poison != 0;
	c->gpu = (int)gpu;
	c->pool_pages = (uint32_t)pool;
	c->connect_ms = (uint32_t)connect_ms;
	c->stall_ms = (uint32_t)stall_ms;
	return good;
}

/* "nic:lo-hi{,lo-hi};..." as the real parser reads it: a single CPU without '-' is wrong. Text without
 * a ':' and NICs that are not there are passed over. */
static bool
bindings_good(const char *name)
{
	const char *at = getenv(name), *all = at;

	while (at && *at) {
		unsigned ranges = 0;

		at = strpbrk(at, ":;");
		if (!at)
			break;
		if (*at == ';') {
			at++;
			continue;
		}
		do {
			unsigned lo, hi;
			int used = 0;

			at++;
			if (sscanf(at, "%u-%u%n", &lo, &hi, &used) != 2 || !used || lo > hi ||
			    ++ranges > 8)
				goto bad;
			at += used;
		} while (*at == ',');
		if (*at == ';')
			at++;
		else if (*at)
			goto bad;
	}
	return true;
bad:
	emu_warn("[bindings] %s=%s: invalid range at \"%.20s\": NIC:LO-HI{,LO-HI}{;...}, at most 8 "
		 "ranges each; one CPU is written 5-5", name, all, at);
	return false;
}

/* What the real plugin has and the emulator has not: no client of ours can work with it there. */
static bool
modelled(void)
{
	bool good = true;

	if (param("NCCL_INLINE_THRESHOLD", 0, 2048, 0)) {
		emu_warn("[inline] NCCL_INLINE_THRESHOLD is not 0: the real plugin would send() memory of "
			 "GPUs by its control connection");
		good = false;
	}
	if (!param("NCCL_USE_DMA_BUF", 0, 1, 1)) {
		emu_warn("[dma-buf] NCCL_USE_DMA_BUF is 0: the real plugin registers no memory of GPUs then");
		good = false;
	}
	if (param(NCCL_TCPX "FLOW_STEERING_STRATEGY", 0, 3, 3) != 3) {
		emu_warn("[steering] " NCCL_TCPX "FLOW_STEERING_STRATEGY is not 3: the real plugin "
			 "connects with no other");
		good = false;
	}
	return good;
}

static bool
sockets_read(struct emu_config *c)
{
	uint32_t per = param("NCCL_NSOCKS_PERTHREAD", 1, 8, 1);

	c->threads = param("NCCL_SOCKET_NTHREADS", 1, EMU_THREADS_MAX, 1);
	if (per * c->threads > EMU_SOCKETS_MAX)
		per = EMU_SOCKETS_MAX / c->threads;
	c->sockets = per * c->threads;
	if (c->sockets)
		return true;
	emu_warn("[no-sockets] NCCL_SOCKET_NTHREADS=%u leaves 0 of %d sockets to each thread: at "
		 "most %d", c->threads, EMU_SOCKETS_MAX, EMU_SOCKETS_MAX);
	return false;
}

enum nccl_result
emu_config_read(struct emu_config *c)
{
	const char *algorithm = getenv(NCCL_TCPX "SCHED_ALG");
	const char *chunk = getenv("NCCL_DYNAMIC_CHUNK_SIZE");
	bool good;

	memset(c, 0, sizeof(*c));
	c->seed = 1;
	good = own_read(c);
	if (!param(NCCL_TCPX "SOCKET_ENABLE", 0, 1, 1)) {
		emu_warn("[disabled] " NCCL_TCPX "SOCKET_ENABLE is 0");
		good = false;
	}
	good &= sockets_read(c);
	c->chunk = param("NCCL_DYNAMIC_CHUNK_SIZE", 0, INT_MAX, chunk && *chunk ? 131072 : 0);
	if (!c->chunk) {
		emu_warn("[no-chunk-size] NCCL_DYNAMIC_CHUNK_SIZE is unset or 0: the real plugin "
			 "would hang; set 524288");
		good = false;
	}
	c->katy = algorithm && !strcmp(algorithm, "KATY");
	if (algorithm && *algorithm && !c->katy && strcmp(algorithm, "RR"))
		emu_info(NCCL_TCPX "SCHED_ALG=%s is neither RR nor KATY: it is RR", algorithm);
	good &= modelled();
	c->recv_sync = param(NCCL_TCPX "RECV_SYNC", 0, 1, 0);
	c->spinwait = param(NCCL_TCPX "SPINWAIT_CONNECT", 0, 1, 1);
	c->retries = param(NCCL_TCPX "CONNECTION_RETRY", 0, 1000, 3);
	c->steering_us = param(NCCL_TCPX "PROGRAM_FLOW_STEERING_WAIT_MICROS", 0, INT_MAX, 5000000);
	c->ctrl_dev = getenv(NCCL_TCPX "CTRL_DEV");
	c->ifname = getenv(NCCL_TCPX "SOCKET_IFNAME");
	good &= bindings_good(NCCL_TCPX "TX_BINDINGS");
	good &= bindings_good(NCCL_TCPX "RX_BINDINGS");
	return good ? NCCL_OK : NCCL_INTERNAL_ERROR;
}
