/* SPDX-License-Identifier: Apache-2.0 */
/* The table of settings, and the search for a row by a name that may be old or mistyped. */
#include "base/settings.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/parse.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define DAY_MS 86400000ull

static const struct tcpx_setting_def settings[] = {
	[TCPX_SET_NICS] = {
		.name = "TCPX_NICS", .type = TCPX_TYPE_STRING, .value = "", .since = "0.1.0",
		.hints = { "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME" },
		.help = "NICs to use, between commas; empty: all that fit.",
	},
	[TCPX_SET_CTRL] = {
		.name = "TCPX_CTRL", .type = TCPX_TYPE_STRING, .value = "", .since = "0.1.0",
		.hints = { "NCCL_GPUDIRECTTCPX_CTRL_DEV" },
		.help = "NIC or address for control besides TCPX_NICS; no data goes over it.",
	},
	[TCPX_SET_FAMILY] = {
		.name = "TCPX_FAMILY", .type = TCPX_TYPE_WORD, .value = "auto",
		.words = { "auto", "ipv4", "ipv6" }, .since = "0.1.0",
		.help = "Addresses of NICs to use; auto: IPv4 where a NIC has both.",
	},
	[TCPX_SET_PROVIDER] = {
		.name = "TCPX_PROVIDER", .type = TCPX_TYPE_WORD, .value = "auto",
		.words = { "auto", "sock", "tcpx" }, .since = "0.1.0",
		.help = "How bytes move: sock is TCP, tcpx a NCCL net plugin; auto: tcpx if a plugin is named.",
	},
	[TCPX_SET_CHANNELS] = {
		.name = "TCPX_CHANNELS", .type = TCPX_TYPE_CHANNELS, .value = "auto",
		.automatic = true, .min = 1, .max = 256, .since = "0.1.0",
		.aliases = { "UCCL_TCPX_NUM_CHANNELS" },
		.help = "Connections to a peer each way, in all (16) or for each NIC (4/nic).",
	},
	[TCPX_SET_NARROW] = {
		.name = "TCPX_NARROW", .type = TCPX_TYPE_BOOL, .value = "1",
		.max = 1, .since = "0.1.0",
		.help = "Begin with one channel a NIC, if the peer does, too; open the others under load.",
	},
	[TCPX_SET_CHUNK] = {
		.name = "TCPX_CHUNK", .type = TCPX_TYPE_SIZE, .value = "auto",
		.automatic = true, .unit = "bytes", .min = 64 * KIB, .max = 16 * MIB,
		.since = "0.1.0", .aliases = { "UCCL_TCPX_CHUNK_BYTES" },
		.hints = { "NCCL_P2P_NET_CHUNKSIZE" },
		.help = "Largest part of a transfer that travels as one message.",
	},
	[TCPX_SET_WINDOW] = {
		.name = "TCPX_WINDOW", .type = TCPX_TYPE_COUNT, .value = "16",
		.unit = "slots", .min = 1, .max = 256, .since = "0.1.0",
		.aliases = { "UCCL_TCPX_WINDOW_SIZE" },
		.help = "Messages that a channel may have outstanding.",
	},
	[TCPX_SET_THREADS] = {
		.name = "TCPX_THREADS", .type = TCPX_TYPE_COUNT, .value = "auto",
		.automatic = true, .min = 1, .max = 64, .since = "0.1.0",
		.help = "I/O threads of an engine.",
	},
	[TCPX_SET_CPUS] = {
		.name = "TCPX_CPUS", .type = TCPX_TYPE_CPUS, .value = "", .since = "0.1.0",
		.help = "CPUs the I/O threads may run on; empty: by TCPX_BIND.",
	},
	[TCPX_SET_BIND] = {
		.name = "TCPX_BIND", .type = TCPX_TYPE_WORD, .value = "auto",
		.words = { "auto", "off", "plan" }, .since = "0.1.0",
		.help = "I/O threads go to their NICs' bindings if there are any, or nowhere, or "
			"by the plan.",
	},
	[TCPX_SET_TX_BINDINGS] = {
		.name = "TCPX_TX_BINDINGS", .type = TCPX_TYPE_STRING, .value = "",
		.since = "0.1.0", .hints = { "NCCL_GPUDIRECTTCPX_TX_BINDINGS" },
		.help = "CPUs that send for each NIC: eth1:8-21,112-125;eth2:8-21,112-125.",
	},
	[TCPX_SET_RX_BINDINGS] = {
		.name = "TCPX_RX_BINDINGS", .type = TCPX_TYPE_STRING, .value = "",
		.since = "0.1.0", .hints = { "NCCL_GPUDIRECTTCPX_RX_BINDINGS" },
		.help = "CPUs that receive for each NIC, likewise.",
	},
	[TCPX_SET_DIST] = {
		.name = "TCPX_DIST", .type = TCPX_TYPE_WORD, .value = "pull",
		.words = { "pull", "rr" }, .since = "0.1.0",
		.help = "Who gets the next chunk: the channel done first, or each in turn.",
	},
	[TCPX_SET_PORT] = {
		.name = "TCPX_PORT", .type = TCPX_TYPE_PORT, .value = "0",
		.since = "0.1.0", .aliases = { "UCCL_TCPX_BOOTSTRAP_PORT" },
		.help = "TCP port of the control listener; 0: any free one; off: none, peers cannot connect.",
	},
	[TCPX_SET_PORTS] = {
		.name = "TCPX_PORTS", .type = TCPX_TYPE_PORTS, .value = "", .since = "0.1.0",
		.help = "Ports that all listeners keep to, as 28515-28614; empty: any.",
	},
	[TCPX_SET_ADVERTISE] = {
		.name = "TCPX_ADVERTISE", .type = TCPX_TYPE_STRING, .value = "", .since = "0.1.0",
		.help = "Where peers reach the NICs, in their order, behind an address translation: "
			"203.0.113.7:40001; the port is that of data here, too.",
	},
	[TCPX_SET_ALLOW] = {
		.name = "TCPX_ALLOW", .type = TCPX_TYPE_NETS, .value = "", .since = "0.1.0",
		.help = "Networks that connections may come from, as 10.0.0.0/8,fd00::/8; empty: all.",
	},
	[TCPX_SET_CONNECT_MS] = {
		.name = "TCPX_CONNECT_MS", .type = TCPX_TYPE_MS, .value = "10000",
		.unit = "ms", .min = 1, .max = DAY_MS, .since = "0.1.0",
		.help = "How long a peer that is not up yet is tried.",
	},
	[TCPX_SET_HANDSHAKE_MS] = {
		.name = "TCPX_HANDSHAKE_MS", .type = TCPX_TYPE_MS, .value = "5000",
		.unit = "ms", .min = 1, .max = DAY_MS, .since = "0.1.0",
		.help = "How long a connection may take to say who it is.",
	},
	[TCPX_SET_STALL_MS] = {
		.name = "TCPX_STALL_MS", .type = TCPX_TYPE_MS, .value = "10000",
		.unit = "ms", .min = 1, .max = DAY_MS, .since = "0.1.0",
		.help = "A session without progress for this long has failed.",
	},
	[TCPX_SET_FREEZE_MS] = {
		.name = "TCPX_FREEZE_MS", .type = TCPX_TYPE_MS, .value = "auto",
		.automatic = true, .unit = "ms", .min = 1, .max = DAY_MS, .since = "0.1.0",
		.help = "How long a peer's process may be stopped; auto: TCPX_STALL_MS; 86400s: for ever.",
	},
	[TCPX_SET_KEEPALIVE_MS] = {
		.name = "TCPX_KEEPALIVE_MS", .type = TCPX_TYPE_MS, .value = "5000",
		.unit = "ms", .min = 1, .max = DAY_MS, .since = "0.1.0",
		.help = "How often a silent session says that it is alive.",
	},
	[TCPX_SET_LINGER_MS] = {
		.name = "TCPX_LINGER_MS", .type = TCPX_TYPE_MS, .value = "30000",
		.unit = "ms", .max = DAY_MS, .since = "0.1.0",
		.help = "How long the connections of a dropped peer are kept warm.",
	},
	[TCPX_SET_STRICT_NICS] = {
		.name = "TCPX_STRICT_NICS", .type = TCPX_TYPE_BOOL, .value = "0",
		.max = 1, .since = "0.1.0",
		.help = "Refuse a session one of whose NICs cannot connect.",
	},
	[TCPX_SET_CHECKSUM] = {
		.name = "TCPX_CHECKSUM", .type = TCPX_TYPE_BOOL, .value = "0",
		.max = 1, .since = "0.1.0",
		.help = "Sum payload end to end (CRC32C); what arrives changed is sent again.",
	},
	[TCPX_SET_SECRET_FILE] = {
		.name = "TCPX_SECRET_FILE", .type = TCPX_TYPE_STRING, .value = "",
		.since = "0.1.0",
		.help = "File with the secret that peers must share; empty: none.",
	},
	[TCPX_SET_SPIN_US] = {
		.name = "TCPX_SPIN_US", .type = TCPX_TYPE_COUNT, .value = "auto",
		.automatic = true, .unit = "us", .min = 1, .max = 1000000, .since = "0.1.0",
		.help = "How long a thread looks for work before it sleeps.",
	},
	[TCPX_SET_INLINE] = {
		.name = "TCPX_INLINE", .type = TCPX_TYPE_SIZE, .value = "8K",
		.unit = "bytes", .max = 8 * KIB, .since = "0.1.0",
		.help = "Up to this length a payload rides in its control message; 0: nor do messages of lanes.",
	},
	[TCPX_SET_EAGER] = {
		.name = "TCPX_EAGER", .type = TCPX_TYPE_SIZE, .value = "32M",
		.unit = "bytes", .max = 64 * GIB, .since = "0.1.0",
		.help = "For messages of lanes that come before their receives, of all peers.",
	},
	[TCPX_SET_NOTE_LIMIT] = {
		.name = "TCPX_NOTE_LIMIT", .type = TCPX_TYPE_COUNT, .value = "65536",
		.unit = "notes", .max = 16 * MIB, .since = "0.1.0",
		.help = "Notes of a peer kept until they are taken; more wait at the peer; 0: all are dropped.",
	},
	[TCPX_SET_SEND_LIMIT] = {
		.name = "TCPX_SEND_LIMIT", .type = TCPX_TYPE_COUNT, .value = "131072",
		.unit = "sends", .max = 16 * MIB, .since = "0.1.0",
		.help = "Sends without a receive kept for a session; more fail; 0: each does.",
	},
	[TCPX_SET_CREDIT_XFERS] = {
		.name = "TCPX_CREDIT_XFERS", .type = TCPX_TYPE_COUNT, .value = "64",
		.unit = "transfers", .min = 1, .max = 65536, .since = "0.1.0",
		.help = "Open transfers that a peer may have in a session.",
	},
	[TCPX_SET_CREDIT_LIST_BYTES] = {
		.name = "TCPX_CREDIT_LIST_BYTES", .type = TCPX_TYPE_SIZE, .value = "16M",
		.unit = "bytes", .min = 64 * KIB, .max = GIB, .since = "0.1.0",
		.help = "Memory that a peer's descriptor lists may take in a session.",
	},
	[TCPX_SET_PEER_MEMORY] = {
		.name = "TCPX_PEER_MEMORY", .type = TCPX_TYPE_SIZE, .value = "64M",
		.unit = "bytes", .min = 4 * MIB, .max = 64 * GIB, .since = "0.1.0",
		.help = "For a peer's lists, notes, sends without a receive, frames it does not read.",
	},
	[TCPX_SET_PEERS_MEMORY] = {
		.name = "TCPX_PEERS_MEMORY", .type = TCPX_TYPE_SIZE, .value = "auto",
		.automatic = true, .unit = "bytes", .min = 4 * MIB, .max = 1024 * GIB, .since = "0.1.0",
		.help = "The same for all peers together; auto: 1G, or a 16th of memory if less.",
	},
	[TCPX_SET_UNPACK_IMPL] = {
		.name = "TCPX_UNPACK_IMPL", .type = TCPX_TYPE_WORD, .value = "kernel",
		.words = { "kernel", "d2d", "host", "none" }, .since = "0.1.0",
		.aliases = { "UCCL_TCPX_UNPACK_IMPL" },
		.help = "Who copies to and from a GPU; none spreads nothing: the data is wrong.",
	},
	[TCPX_SET_STAGING] = {
		.name = "TCPX_STAGING", .type = TCPX_TYPE_SIZE, .value = "144M",
		.unit = "bytes", .min = 2 * MIB, .max = 4 * GIB, .since = "0.1.0",
		.help = "Page-locked memory between sockets and GPUs; two chunks a thread at least.",
	},
	[TCPX_SET_ZEROCOPY] = {
		.name = "TCPX_ZEROCOPY", .type = TCPX_TYPE_WORD, .value = "auto",
		.words = { "auto", "off", "splice", "msg" }, .since = "0.1.0",
		.help = "How staged payload, and that of TCPX_MEM_LEND, leaves: by a copy, a pipe, MSG_ZEROCOPY.",
	},
	[TCPX_SET_CONGESTION] = {
		.name = "TCPX_CONGESTION", .type = TCPX_TYPE_STRING, .value = "",
		.since = "0.1.0",
		.help = "Congestion control of channels; empty: the system's, within a host reno.",
	},
	[TCPX_SET_CUDA_LIBRARY] = {
		.name = "TCPX_CUDA_LIBRARY", .type = TCPX_TYPE_STRING, .value = "",
		.since = "0.1.0",
		.help = "GPU driver to load; empty: libcuda.so.1, if the process has it.",
	},
	[TCPX_SET_PLUGIN_PATH] = {
		.name = "TCPX_PLUGIN_PATH", .type = TCPX_TYPE_STRING, .value = "",
		.since = "0.1.0", .aliases = { "UCCL_TCPX_PLUGIN_PATH" },
		.help = "NCCL net plugin to load, or none; empty: none is named, and tcpx looks in the usual places.",
	},
	[TCPX_SET_GPU] = {
		.name = "TCPX_GPU", .type = TCPX_TYPE_COUNT, .value = "auto",
		.automatic = true, .max = 15, .since = "0.1.0",
		.aliases = { "UCCL_TCPX_LOCAL_DEVICE", "UCCL_TCPX_DEVICE_IDX" },
		.help = "GPU that a plugin's channels belong to; auto: none, host memory.",
	},
	[TCPX_SET_MAP] = {
		.name = "TCPX_MAP", .type = TCPX_TYPE_STRING, .value = "", .since = "0.1.0",
		.help = "Which NIC is next to which GPU: gpu0=eth1;gpu4=eth3. Empty: by PCI.",
	},
	[TCPX_SET_RELAY] = {
		.name = "TCPX_RELAY", .type = TCPX_TYPE_WORD, .value = "auto",
		.words = { "auto", "off" }, .since = "0.1.0",
		.help = "A GPU's traffic over NICs next to other GPUs, by way of these.",
	},
	[TCPX_SET_ROOT] = {
		.name = "TCPX_ROOT", .type = TCPX_TYPE_STRING, .value = "/", .since = "0.1.0",
		.help = "Directory below which the machine's proc and sys are read.",
	},
	[TCPX_SET_STATS] = {
		.name = "TCPX_STATS", .type = TCPX_TYPE_STRING, .value = "auto",
		.since = "0.1.0",
		.help = "Directory of the socket that tcpx top asks; off; auto: the user's own.",
	},
	[TCPX_SET_DEBUG] = {
		.name = "TCPX_DEBUG", .type = TCPX_TYPE_WORD, .value = "auto",
		.words = { "auto", "NONE", "VERSION", "ERROR", "WARN", "INFO", "DEBUG", "TRACE" },
		.since = "0.1.0", .aliases = { "UCCL_TCPX_DEBUG" },
		.help = "How much is logged; auto: WARN to a function or a file and in tcpx, else NONE.",
	},
	[TCPX_SET_DEBUG_SUBSYS] = {
		.name = "TCPX_DEBUG_SUBSYS", .type = TCPX_TYPE_STRING, .value = "ALL",
		.since = "0.1.0",
		.help = "Subsystems that log INFO and below; ^ in front: all but these.",
	},
	[TCPX_SET_DEBUG_FILE] = {
		.name = "TCPX_DEBUG_FILE", .type = TCPX_TYPE_STRING, .value = "",
		.since = "0.1.0",
		.help = "File to log to, %h host, %p process; empty: standard error.",
	},
};

_Static_assert(sizeof(settings) / sizeof(settings[0]) == TCPX_SETTING_COUNT,
	       "every setting has its row");

/* Names of other programs' settings: not ours, and not mistyped. */
static const char *const elsewhere[] = {
	"TCPX_CONF_FILE",
	"TCPX_PERF",
	"TCPX_RANKS",
	"TCPX_RENDEZVOUS",
	"TCPX_RUNTIME_LIBDIR",
	"TCPX_SRC_LIBDIR",
	"UCCL_TCPX_PERF_SIZE",
	"UCCL_TCPX_PERF_ITERS",
	"UCCL_TCPX_MAX_SEND_INFLIGHT",
	"UCCL_TCPX_MAX_RECV_INFLIGHT",
	"UCCL_TCPX_BOOTSTRAP_PORT_BASE",
	"UCCL_TCPX_PORT_BASE",
	"UCCL_TCPX_OOB_PORT",
	"UCCL_TCPX_CTRL_PORT",
	"UCCL_TCPX_CTRL_IP",
	"UCCL_TCPX_PORT_RETRIES",
	"UCCL_TCPX_PAYLOAD_BYTES",
	"UCCL_TCPX_HOST_RECV_DEBUG",
	"UCCL_TCPX_PROBE_BYTE",
	"UCCL_TCPX_USE_STAGING",
	"UCCL_TCPX_SKIP_WARMUP",
	"UCCL_TCPX_VERBOSE",
	"UCCL_TCPX_LAUNCH_DEBUG",
	"UCCL_TCPX_KERNEL_DEBUG",
	"UCCL_TCPX_DO_ASYNC",
	"UCCL_TCPX_ASYNC_POLL_US",
	"UCCL_TCPX_ASYNC_INFLIGHT",
};

const struct tcpx_setting_def *
tcpx_setting_at(unsigned i)
{
	return i < TCPX_SETTING_COUNT ? &settings[i] : NULL;
}

int
tcpx_setting_find(const char *name)
{
	for (int i = 0; i < TCPX_SETTING_COUNT; i++) {
		if (!strcmp(name, settings[i].name))
			return i;
		for (const char *const *alias = settings[i].aliases; *alias; alias++)
			if (!strcmp(name, *alias))
				return i;
	}
	return -ENOENT;
}

bool
tcpx_setting_known_elsewhere(const char *name)
{
	/* the emulator's (docs/emulator.md), which reports unknown names itself */
	if (!strncmp(name, "TCPX_EMU_", 9))
		return true;
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (!strcmp(name, elsewhere[i]))
			return true;
	return false;
}

const struct tcpx_setting_def *
tcpx_setting_nearest(const char *name)
{
	const struct tcpx_setting_def *nearest = NULL;
	size_t len = strlen(name);
	unsigned best;

	/* all names share the prefix; half of the rest must be right */
	best = len > 5 ? (unsigned)(len - 5) / 2 + 1 : 1;
	for (unsigned i = 0; i < TCPX_SETTING_COUNT; i++) {
		const char *const *alias = settings[i].aliases;

		for (const char *known = settings[i].name; known; known = *alias++) {
			unsigned d = tcpx_word_distance(name, known);

			if (d >= best)
				continue;
			best = d;
			nearest = &settings[i];
		}
	}
	return nearest;
}
