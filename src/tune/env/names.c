/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's variables by name, and their allowed values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "tune/env/lint.h"
#include "tool/tool.h"

#define PREFIX "NCCL_GPUDIRECTTCPX_"

/* min > max: not a number, or any. The plugin reads numbers in C's notation, and uses its
 * default when one is out of range. */
static const struct known {
	const char *name; /* first member: tool_nearest() reads it; behind PREFIX */
	long long min, max;
	const char *note; /* the effect of a set value; NULL: it works */
} known[] = {
	{ "SOCKET_ENABLE", 0, 1, NULL },
	{ "SOCKET_IFNAME", 1, 0, NULL },
	{ "SOCKET_FAMILY", 1, 0, NULL },
	{ "CTRL_DEV", 1, 0, NULL },
	{ "TX_BINDINGS", 1, 0, NULL },
	{ "RX_BINDINGS", 1, 0, NULL },
	{ "TX_IRQ_BINDINGS", 1, 0, "is read and never used: no interrupt moves by it" },
	{ "RX_IRQ_BINDINGS", 1, 0, "is read and never used: no interrupt moves by it" },
	{ "WORKER_PIN_THREADS", 1, 0, NULL },
	{ "WORKER_SPRAY_COUNT", 1, 0, NULL },
	{ "WORKER_SPRAY_STRIDE", 1, 0, NULL },
	{ "PROGRAM_FLOW_STEERING_WAIT_MICROS", 0, 60000000, NULL },
	{ "FLOW_STEERING_STRATEGY", 3, 3, NULL },
	{ "UNIX_CLIENT_PREFIX", 1, 0, NULL },
	{ "TCPX_RXMEM_IMPORT_USE_GPU_PCI_CLIENT", 0, 1, NULL },
	{ "TCPX_RXMEM_IMPORT_SKIP_ODDS", 0, 1, NULL },
	{ "CUDA_USE_PRIMARY_CTX", 0, 1, NULL },
	{ "REG_DMABUF_USE_INTERNAL_API", 0, 1, NULL },
	{ "NIC_N_RXQS", 1, 0, NULL },
	{ "CTRL_SOCKCOND", 1, 0, NULL },
	{ "PORT_MAPPING", 1, 0, "is not supported: ports are the kernel's choice" },
	{ "PORT_BEGIN", 1, 0, "is never used: ports are the kernel's choice" },
	{ "PORT_END", 1, 0, "is never used: ports are the kernel's choice" },
	{ "REPORT_LIFECYCLE", 0, 1, NULL },
	{ "RECV_SYNC", 0, 1, NULL },
	{ "FORCE_ACK", 0, 1, NULL },
	{ "TX_COMPLETION_NANOSLEEP", 1, 0, NULL },
	{ "RX_COMPLETION_NANOSLEEP", 1, 0, "is not known to the open plugin" },
	{ "SPINWAIT_CONNECT", 0, 1, NULL },
	{ "CONNECTION_RETRY", 0, 1000000, NULL },
	{ "SCHED_ALG", 1, 0, NULL },
	{ "TIMEOUT_THRESHOLD_NS", 100000, 9223372036854775807ll, NULL },
	{ "TIMEOUT_FREQUENCY_NS", 100000, 9223372036854775807ll, NULL },
	{ "SLOWNESS_SWITCH", 1, 0, NULL },
	{ "SLOWNESS_REPORT", 1, 0, NULL },
	{ "LOG_STATS_TO_STDOUT", 0, 1, NULL },
	{ "TELEMETRY_ENABLE_TASK_LEVEL_STATS", 0, 1, NULL },
	{ "TELEMETRY_ENABLE_REQUEST_LEVEL_STATS", 0, 1, NULL },
	{ "TELEMETRY_EXPORT_STATS_TO_FILE", 0, 1, NULL },
	{ "TELEMETRY_SAMPLING_FACTOR", 1, 1000000, NULL },
	{ "TELEMETRY_LOG_LINE_LIMIT", 1, 0, NULL },
	{ "TELEMETRY_EXPORTER_PATH", 1, 0, NULL },
	{ "TELEMETRY_EXPORTER_CORE_INDEX", 1, 0, NULL },
	{ "TELEMETRY_FILE_LIFE", 1, 0, NULL },
	{ "TELEMETRY_FILE_REMOVE_FREQUENCY", 1, 0, NULL },
	{ "TELEMETRY_GARBAGE_COLLECTOR_INDEX", 1, 0, NULL },
	{ "PROGRAM_CONNECT_TIMEOUT_MS", 1, 0, "is not known to the open plugin" },
	{ "MIN_ZCOPY_SIZE", 1, 0, "is not known to the open plugin: NCCL_MIN_ZCOPY_SIZE is" },
	{ "DEBUG_LEVEL", 1, 0, "is not known to the open plugin" },
};

/* NCCL's names that the plugin limits to a range. */
static const struct known shared[] = {
	{ "NCCL_NSOCKS_PERTHREAD", 1, 8, NULL },
	{ "NCCL_SOCKET_NTHREADS", 1, 16, NULL },
	{ "NCCL_INLINE_THRESHOLD", 0, 2048, NULL },
	{ "NCCL_THREAD_SPIN_ENABLE", 0, 1, NULL },
};

static void
check_range(const struct known *k, const char *name, const char *value, struct env_lint *out)
{
	char *end;
	long long n;

	if (k->note)
		env_say(out, ENV_NOTE, "no-effect", name, "%s", k->note);
	if (k->min > k->max)
		return;
	errno = 0;
	n = strtoll(value, &end, 0);
	if (end == value || *end || errno || n < k->min || n > k->max)
		env_say(out, k->min == k->max ? ENV_ERROR : ENV_WARNING, "range", name,
			"\"%.40s\": allowed is %lld to %lld; the plugin takes its default instead",
			value, k->min, k->max);
}

static void
check_plugins(const char *name, const char *value, struct env_lint *out)
{
	const char *behind = name + strlen(PREFIX), *near;

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(behind, known[i].name))
			continue;
		check_range(&known[i], name, value, out);
		return;
	}
	near = tool_nearest(behind, known, ARRAY_LEN(known), sizeof(known[0]));
	env_say(out, ENV_WARNING, "unknown-name", name, "nobody reads it%s%s%s",
		near ? "; is " PREFIX : "", near ? near : "", near ? " meant?" : "");
}

static void
check_ours(const char *name, struct env_lint *out)
{
	const struct tcpx_setting_def *near;

	if (tcpx_setting_find(name) >= 0 || tcpx_setting_known_elsewhere(name))
		return;
	near = tcpx_setting_nearest(name);
	env_say(out, ENV_WARNING, "unknown-name", name, "nobody reads it%s%s%s",
		near ? "; is " : "", near ? near->name : "", near ? " meant?" : "");
}

void
env_lint_names(char *const *texts, struct env_lint *out)
{
	for (; *texts; texts++) {
		size_t len = strcspn(*texts, "=");
		char name[64];

		if (len >= sizeof(name) || !(*texts)[len])
			continue;
		memcpy(name, *texts, len);
		name[len] = '\0';
		if (env_text_value(texts + 1, name))
			continue; /* a later one counts */
		if (!strncmp(name, PREFIX, strlen(PREFIX)))
			check_plugins(name, *texts + len + 1, out);
		else if (!strncmp(name, "TCPX_", 5) || !strncmp(name, "UCCL_TCPX_", 10))
			check_ours(name, out);
		for (size_t i = 0; i < ARRAY_LEN(shared); i++)
			if (!strcmp(name, shared[i].name))
				check_range(&shared[i], name, *texts + len + 1, out);
	}
}
