/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that need several variables, or the machine. */
#include "tune/env/lint.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tune/env/make.h"
#include "tune/facts/text.h"
#include "tune/texts/bindings_lint.h"

#define SOCKETS_MAX 8      /* of a connection, the plugin's limit          */
#define NTHREADS_MAX 8     /* from 9 on the plugin computes 0 sockets      */
#define IFS_MAX 16         /* NICs that the plugin has room for            */
#define CHUNK "NCCL_DYNAMIC_CHUNK_SIZE"
#define IFNAME "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME"

struct job {
	const struct machine *m;
	const struct tcpx_roles *roles;
	char *const *texts;
	struct env_lint *out;
};

static const char *
value(const struct job *j, const char *name)
{
	return env_text_value(j->texts, name);
}

/* The value as the plugin reads it; -1: not set, or not a number. */
static long long
number(const struct job *j, const char *name)
{
	const char *text = value(j, name);
	char *end;
	long long n;

	if (!text || !*text)
		return -1;
	n = strtoll(text, &end, 0);
	return *end || n < 0 ? -1 : n;
}

static void
lint_chunk(const struct job *j)
{
	long long chunk = number(j, CHUNK), p2p = number(j, "NCCL_P2P_NET_CHUNKSIZE");
	long long threads = number(j, "NCCL_SOCKET_NTHREADS");
	long long sockets = number(j, "NCCL_NSOCKS_PERTHREAD"), most;

	if (__builtin_mul_overflow(sockets < 1 ? 1 : sockets, threads < 1 ? 1 : threads, &sockets))
		sockets = LLONG_MAX;
	most = sockets < SOCKETS_MAX ? sockets : SOCKETS_MAX;
	if (threads > NTHREADS_MAX)
		env_say(j->out, ENV_ERROR, "nthreads", "NCCL_SOCKET_NTHREADS", "%lld: with more than "
			"%d the plugin comes to 0 sockets a connection", threads, NTHREADS_MAX);
	else if (sockets > SOCKETS_MAX)
		env_say(j->out, ENV_WARNING, "sockets", "NCCL_NSOCKS_PERTHREAD", "times "
			"NCCL_SOCKET_NTHREADS is %lld sockets a connection: %d are the most", sockets,
			SOCKETS_MAX);
	if (chunk <= 0) {
		env_say(j->out, ENV_ERROR, "chunk-unset", CHUNK, "%s: the plugin then sends pieces of "
			"0 bytes and nothing arrives; set %d", value(j, CHUNK) ? "is 0 or no number" :
			"is not set", ENV_CHUNK);
		return;
	}
	if (p2p > 0 && (p2p - 1) / most >= chunk) /* more than all of them take */
		env_say(j->out, ENV_ERROR, "chunk-mismatch", "NCCL_P2P_NET_CHUNKSIZE", "%lld is more "
			"than " CHUNK " %lld on %lld sockets: two pieces of a message on one socket "
			"lose pages of the receive pool for ever", p2p, chunk, sockets);
	else if (p2p > 0 && p2p != chunk)
		env_say(j->out, ENV_WARNING, "chunk-mismatch", "NCCL_P2P_NET_CHUNKSIZE", "%lld differs "
			"from " CHUNK " %lld: messages are cut twice", p2p, chunk);
}

static unsigned
matches(const struct machine *m, const char *entry, size_t len, bool whole)
{
	unsigned count = 0;

	for (unsigned i = 0; i < m->facts->nic_count; i++)
		count += !strncmp(m->facts->nics[i].ifname, entry, len) &&
			 (!whole || strlen(m->facts->nics[i].ifname) == len);
	return count;
}

static bool
named(const char *list, const char *ifname, bool whole)
{
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t len = strcspn(at, ",:");

		if (len && !strncmp(at, ifname, len) && (!whole || strlen(ifname) == len))
			return true;
	}
	return false;
}

static void
lint_entries(const struct job *j, const char *list, bool whole)
{
	const char *control = value(j, "NCCL_GPUDIRECTTCPX_CTRL_DEV");
	unsigned all = 0;

	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t len = strcspn(at, ",:");
		unsigned n = len ? matches(j->m, at, len, whole) : 0;

		all += n;
		if (n == 0)
			env_say(j->out, ENV_ERROR, "ifname", IFNAME, "\"%.*s\" is no interface here",
				(int)len, at);
		else if (n > 1)
			env_say(j->out, ENV_WARNING, "ifname-prefix", IFNAME, "\"%.*s\" is the "
				"beginning of %u interfaces; \"=\" in front of the list takes whole names",
				(int)len, at, n);
	}
	if (all > IFS_MAX)
		env_say(j->out, ENV_ERROR, "ifname", IFNAME, "names %u interfaces: the plugin has room "
			"for %d", all, IFS_MAX);
	if (control && *control && named(list, control, whole))
		env_say(j->out, ENV_WARNING, "control-nic", IFNAME, "has %s in it, which is also "
			"NCCL_GPUDIRECTTCPX_CTRL_DEV", control);
	for (unsigned i = 0; i < j->roles->count && j->roles->by_gpu; i++)
		if (!named(list, j->roles->data[i]->ifname, whole))
			env_say(j->out, ENV_WARNING, "ifname", IFNAME, "leaves out %s, the NIC of a GPU",
				j->roles->data[i]->ifname);
}

static void
lint_nics(const struct job *j)
{
	const char *list = value(j, IFNAME), *control = value(j, "NCCL_GPUDIRECTTCPX_CTRL_DEV");

	if (!j->m->facts->nic_count)
		return; /* nothing to compare with: doctor reports that */
	if (!list || !*list)
		env_say(j->out, ENV_WARNING, "ifname", IFNAME, "is not set: the plugin takes every "
			"interface but docker's and lo%s%s", j->roles->control && j->roles->by_gpu ?
			", the control NIC " : "", j->roles->control && j->roles->by_gpu ?
			j->roles->control->ifname : "");
	else if (*list != '^')
		lint_entries(j, list + (*list == '='), *list == '=');
	if (control && *control && !matches(j->m, control, strlen(control), true))
		env_say(j->out, ENV_ERROR, "control-nic", "NCCL_GPUDIRECTTCPX_CTRL_DEV", "\"%s\" is no "
			"interface here", control);
}

static bool
has_daemon(const struct machine *m, const char *dir)
{
	char names[16384];

	if (tcpx_host_names_read(m->root, dir, names, sizeof(names)) < 0)
		return false;
	for (const char *name = names; *name; name += strlen(name) + 1)
		if (!strcmp(name, "rx_rule_manager"))
			return true;
	return false;
}

static void
lint_prefix(const struct job *j)
{
	static const char name[] = "NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX";
	const char *dir = value(j, name);
	bool set = dir && *dir;

	if (!set)
		dir = "/tmp";
	if (has_daemon(j->m, dir))
		return;
	if (has_daemon(j->m, ENV_PREFIX))
		env_say(j->out, ENV_ERROR, "unix-prefix", name, "%s%s, and the receive daemon is in "
			ENV_PREFIX, set ? "is " : "is not set, which means ", dir);
	else if (!set)
		env_say(j->out, ENV_WARNING, "unix-prefix", name, "is not set: the receive daemon is "
			"looked for in /tmp, and " ENV_PREFIX " is where it usually is");
	else
		env_say(j->out, ENV_WARNING, "unix-prefix", name, "no receive daemon has its sockets in "
			"%s", dir);
}

static int
lint_bindings(const struct job *j)
{
	static const enum env_level levels[TCPX_LINT_LEVELS] = { ENV_ERROR, ENV_WARNING, ENV_NOTE };
	const char *tx = value(j, "NCCL_GPUDIRECTTCPX_TX_BINDINGS");
	const char *rx = value(j, "NCCL_GPUDIRECTTCPX_RX_BINDINGS");
	struct tcpx_machine machine;
	struct tcpx_lint lint;
	bool known;
	int rc;

	tx = tx && *tx ? tx : NULL;
	rx = rx && *rx ? rx : NULL;
	if (!tx || !rx)
		env_say(j->out, ENV_NOTE, "bindings", !tx ? "NCCL_GPUDIRECTTCPX_TX_BINDINGS" :
			"NCCL_GPUDIRECTTCPX_RX_BINDINGS", "is not set: threads of the plugin go where the "
			"first digit of the NIC's node list says");
	if (!tx && !rx)
		return 0;
	known = j->m->facts->cpus.count &&
		tcpx_facts_machine(j->m->facts, j->m->root, NULL, NULL, &machine) == 0;
	rc = tcpx_lint_bindings(known ? &machine : NULL, NULL, tx, rx, &lint);
	if (known)
		tcpx_machine_fini(&machine);
	if (rc)
		return rc;
	for (unsigned i = 0; i < lint.count; i++) {
		const struct tcpx_lint_finding *f = &lint.at[i];

		env_say(j->out, levels[f->level], f->id, !strcmp(f->where, "tx") ?
			"NCCL_GPUDIRECTTCPX_TX_BINDINGS" : !strcmp(f->where, "rx") ?
			"NCCL_GPUDIRECTTCPX_RX_BINDINGS" : "NCCL_GPUDIRECTTCPX_*_BINDINGS", "%s%s%s",
			f->nic, *f->nic ? ": " : "", f->text);
	}
	tcpx_lint_fini(&lint);
	return 0;
}

/* Single variables that decide whether anything works. */
static void
lint_values(const struct job *j)
{
	const char *text;

	if (number(j, "NCCL_GPUDIRECTTCPX_SOCKET_ENABLE") == 0)
		env_say(j->out, ENV_ERROR, "disabled", "NCCL_GPUDIRECTTCPX_SOCKET_ENABLE", "0: the "
			"plugin's init() fails");
	text = value(j, "NCCL_NET_PLUGIN");
	if (text && !strcasecmp(text, "none"))
		env_say(j->out, ENV_ERROR, "disabled", "NCCL_NET_PLUGIN", "none: no plugin is loaded");
	text = value(j, "NCCL_USE_DMA_BUF");
	if (text && (!strcmp(text, "0") || !strcasecmp(text, "false")))
		env_say(j->out, ENV_ERROR, "dma-buf", "NCCL_USE_DMA_BUF", "%s: memory of GPUs cannot be "
			"registered without", text);
	if (number(j, "NCCL_INLINE_THRESHOLD") > 0)
		env_say(j->out, ENV_WARNING, "inline", "NCCL_INLINE_THRESHOLD", "above 0 is for host "
			"memory only; leave it at 0");
	if (number(j, "NCCL_CROSS_NIC") > 0)
		env_say(j->out, ENV_WARNING, "foreign-nic", "NCCL_CROSS_NIC", "%s: a GPU can receive only "
			"by the NIC that is its own (tcpx doctor --explain rx-no-cmsg)",
			value(j, "NCCL_CROSS_NIC"));
	text = value(j, "NCCL_NET_GDR_LEVEL");
	if (text && *text && strcasecmp(text, "PIX") && strcasecmp(text, "LOC") && strcmp(text, "0") &&
	    strcmp(text, "1"))
		env_say(j->out, ENV_WARNING, "foreign-nic", "NCCL_NET_GDR_LEVEL", "%s: NICs beyond a "
			"GPU's own switch are taken, too; PIX is meant", text);
	if (number(j, "NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS") < 0)
		env_say(j->out, ENV_NOTE, "slow-connect",
			"NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS",
			"is not set: each connection waits 5 s; 50000 is usual");
}

static void
lint_port(const struct job *j)
{
	long long port = number(j, "TCPX_PORT");
	unsigned first, last;
	char text[64];

	if (port <= 0 || tcpx_host_text_read(j->m->root, "/proc/sys/net/ipv4/ip_local_port_range",
					      text, sizeof(text)) <= 0 ||
	    sscanf(text, "%u %u", &first, &last) != 2)
		return;
	if (port >= first && port <= last)
		env_say(j->out, ENV_WARNING, "port", "TCPX_PORT", "%lld is within the local ports %u to "
			"%u: any outgoing connection may take it", port, first, last);
}

int
env_lint(const struct machine *m, const struct tcpx_roles *roles, char *const *texts,
	 struct env_lint *out)
{
	struct job j = { m, roles, texts, out };

	*out = (struct env_lint){ .count = 0 };
	lint_chunk(&j);
	lint_values(&j);
	lint_nics(&j);
	lint_prefix(&j);
	lint_port(&j);
	env_lint_names(texts, out);
	return lint_bindings(&j);
}

