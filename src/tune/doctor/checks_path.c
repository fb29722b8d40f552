/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the path to a peer: its address, each NIC's route, packet filters. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tune/doctor/checks.h"
#include "tune/doctor/firewall.h"
#include "tune/doctor/peer_connect.h"
#include "tune/doctor/peer_reach.h"
#include "tune/doctor/peer_route.h"
#include "tool/tool.h"
#include "tune/facts/text.h"

#define ROUTE_BYTES 65536

static uint16_t
control_port(const struct machine *m)
{
	uint16_t port = machine_port(m);

	return port ? port : MACHINE_SERVE_PORT;
}

/* The peers; false: the check has its answer. */
static bool
get_peers(const struct machine *m, struct peer_addr *peer, unsigned *count, struct check_result *r)
{
	char why[192];

	if (!m->peer) {
		check_skip(r, "--peer names no other machine");
		return false;
	}
	if (peer_list_parse(m->peer, control_port(m), m->here, peer, count, why, sizeof(why)) == 0)
		return true;
	check_finding(r, "%s", why);
	return false;
}

static bool
is_ours(const struct machine *m, const struct tcpx_addr *addr)
{
	for (unsigned i = 0; i < m->facts->nic_count; i++)
		for (unsigned k = 0; k < m->facts->nics[i].addr_count; k++)
			if (tcpx_host_addr_equal(&m->facts->nics[i].addrs[k], addr))
				return true;
	return false;
}

static bool
is_loopback(const struct tcpx_addr *addr)
{
	static const uint8_t one[16] = { [15] = 1 };

	return addr->family == 4 ? addr->ip[0] == 127 : !memcmp(addr->ip, one, sizeof(one));
}

static void
judge_address(const struct machine *m, const struct tcpx_roles *roles, const char *route,
	      const struct peer_addr *p, struct check_result *r)
{
	char ifname[16];

	if (is_loopback(&p->addr)) {
		for (unsigned i = 0; i < m->nic_count; i++)
			if (m->nics[i].loopback)
				return; /* both sides are on this host, on purpose */
		check_add(r, "%s is the loopback: every machine's own", p->text);
	} else if (is_ours(m, &p->addr)) {
		check_add(r, "%s is this machine's own", p->text);
	} else if (!*route || p->addr.family != 4) {
		return;
	} else if (!peer_route_find(route, &p->addr, ifname, sizeof(ifname))) {
		check_add(r, "%s: no route", p->text);
	} else if (roles->by_gpu && roles->control && !tcpx_roles_data(roles, ifname)) {
		check_add(r, "%s is reached by %s, which is no GPU's NIC: give the peer's data NICs, too",
			  p->text, ifname);
	} else if (!machine_chosen(m, ifname)) {
		check_add(r, "%s is reached by %s, which is not used", p->text, ifname);
	}
}

static void
probe_address(const struct machine *m, struct check_result *r)
{
	struct peer_addr peer[PEERS_MAX];
	struct tcpx_roles roles;
	unsigned count;
	char *route;

	if (!get_peers(m, peer, &count, r))
		return;
	route = malloc(ROUTE_BYTES);
	if (!route)
		return check_unknown(r, "no memory");
	if (tcpx_host_text_read(m->root, "/proc/net/route", route, ROUTE_BYTES) < 0)
		*route = '\0';
	machine_roles_by_gpu(m, NULL, &roles);
	for (unsigned i = 0; i < count; i++)
		judge_address(m, &roles, route, &peer[i], r);
	if (!*route && !r->evidence[0])
		check_unknown(r, "/proc/net/route cannot be read");
	else
		check_judge(r, "%u, by NICs that are used", count);
	free(route);
}

/* ---- connecting ---------------------------------------------------------------------------- */

/* From one NIC to all addresses: how many answered; the first reason for a failure. */
static unsigned
try_nic(const struct tcpx_host_nic *nic, const struct peer_addr *peer, unsigned count,
	bool reached[PEERS_MAX], bool refused[PEERS_MAX], int *why)
{
	struct attempt a[PEERS_MAX];
	unsigned answered = 0;

	attempts_make(&nic->addr, peer, count, NULL, 0, a);
	for (unsigned i = 0; i < count; i++) {
		bool answer = a[i].error == 0 || a[i].error == ECONNREFUSED;

		refused[i] |= a[i].error == ECONNREFUSED;
		if (answer)
			reached[i] = true;
		else if (!*why)
			*why = a[i].error == EINPROGRESS ? ETIMEDOUT : a[i].error;
		answered += answer;
	}
	attempts_close(a, count);
	return answered;
}

static void
probe_paths(const struct machine *m, struct check_result *r)
{
	bool reached[PEERS_MAX] = { false }, refused[PEERS_MAX] = { false };
	struct peer_addr peer[PEERS_MAX];
	unsigned count, pairs = 0;

	if (m->peer && !check_here(m, r))
		return;
	if (!get_peers(m, peer, &count, r))
		return;
	for (unsigned i = 0; i < m->nic_count; i++) {
		unsigned answered;
		int why = 0;

		if (m->nics[i].loopback && !is_loopback(&peer[0].addr))
			continue;
		answered = try_nic(&m->nics[i], peer, count, reached, refused, &why);
		pairs += answered;
		if (!answered)
			check_add(r, "%s reaches none (%s)", m->nics[i].name, strerror(why));
	}
	for (unsigned i = 0; i < count; i++) {
		if (!reached[i])
			check_add(r, "%s port %u is silent", peer[i].text, peer[i].port);
		else if (refused[i])
			check_add(r, "%s port %u is refused: nobody listens there", peer[i].text,
				  peer[i].port);
	}
	check_judge(r, "%u pair%s of NICs", pairs, pairs == 1 ? "" : "s");
}

/* Data ports there, and the way back, by the tcpx serve there. */
static void
probe_ports(const struct machine *m, struct check_result *r)
{
	struct peer_addr peer[PEERS_MAX];
	struct reach_result got;
	unsigned count;

	if (m->peer && !check_here(m, r))
		return;
	if (!get_peers(m, peer, &count, r))
		return;
	peer_reach(m, peer, count, &got);
	if (*got.bad && *got.not_tried)
		check_finding(r, "%s; %s", got.bad, got.not_tried);
	else if (*got.bad)
		check_finding(r, "%s", got.bad);
	else if (*got.not_tried)
		check_unknown(r, "%s", got.not_tried);
	else
		check_ok(r, "%u pair%s of NICs, there and back", got.pairs, got.pairs == 1 ? "" : "s");
}

/* ---- filters ------------------------------------------------------------------------------- */

/* Appends a program's output; returns its exit code, or -1. */
static int
add_output(const char *command, char *text, size_t cap)
{
	size_t len = strlen(text);
	FILE *f = popen(command, "re");
	int status;

	if (!f)
		return -1;
	len += fread(text + len, 1, cap - len - 1, f);
	text[len] = '\0';
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* NULL, or the reason for no rules. */
static const char *
read_ruleset(const struct machine *m, char *text, size_t cap)
{
	int nft, save;

	*text = '\0';
	if (!m->here)
		return tcpx_host_text_read(m->root, "/ruleset", text, cap) < 0 ?
			       "there is no file \"ruleset\" (nft list ruleset, iptables-save)" : NULL;
	if (geteuid() != 0)
		return "only root may list the rules";
	nft = add_output("PATH=$PATH:/usr/sbin:/sbin nft list ruleset 2>/dev/null", text, cap);
	save = add_output("PATH=$PATH:/usr/sbin:/sbin iptables-save 2>/dev/null", text, cap);
	return nft && save ? "neither nft nor iptables-save tells" : NULL;
}

static void
probe_firewall(const struct machine *m, struct check_result *r)
{
	char *ruleset, quoted[400];
	const char *why;

	if (!m->nic_count) {
		check_skip(r, "no NIC is chosen");
		return;
	}
	if (m->peer && m->here) {
		check_skip(r, "peer-paths connects to it");
		return;
	}
	ruleset = malloc(FIREWALL_BYTES);
	if (!ruleset)
		return check_unknown(r, "no memory");
	why = read_ruleset(m, ruleset, FIREWALL_BYTES);
	if (why)
		check_unknown(r, "%s", why);
	else if (!firewall_quote(ruleset, control_port(m), quoted, sizeof(quoted)))
		check_ok(r, "no filter looks at what comes in");
	else
		check_unknown(r, "not judged here: %s", quoted);
	free(ruleset);
}

static void
probe_somaxconn(const struct machine *m, struct check_result *r)
{
	long long max = machine_number(m, "/proc/sys/net/core/somaxconn");

	if (max < 0)
		check_unknown(r, "/proc/sys/net/core/somaxconn cannot be read");
	else if (max < 128)
		check_finding(r, "%lld", max);
	else
		check_ok(r, "%lld", max);
}

/* The limit for programs that set their buffers themselves, like NCCL's socket transport. */
static void
probe_socket_max(const struct machine *m, struct check_result *r)
{
	static const char *const names[] = { "rmem_max", "wmem_max" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[64];
		long long max;

		snprintf(path, sizeof(path), "/proc/sys/net/core/%s", names[i]);
		max = machine_number(m, path);
		if (max < 0) {
			check_unknown(r, "%s cannot be read", path);
			return;
		}
		if (max < 4 << 20)
			check_add(r, "%s is %lld bytes", names[i], max);
	}
	check_judge(r, "4 MiB and more");
}

static void
probe_optmem(const struct machine *m, struct check_result *r)
{
	long long max = machine_number(m, "/proc/sys/net/core/optmem_max");

	if (max < 0)
		check_unknown(r, "/proc/sys/net/core/optmem_max cannot be read");
	else if (max < 128 << 10)
		check_finding(r, "%lld bytes", max);
	else
		check_ok(r, "%lld bytes", max);
}

const struct check checks_path[] = {
	{ "peer-address", CHECK_ERROR, "Is the peer's address one that our NICs reach?",
	  probe_address, "Give the addresses of the peer's data NICs: --peer A,B,C,D; tcpx info there "
	  "shows them. ip route get ADDRESS shows the way." },
	{ "peer-paths", CHECK_ERROR, "Does each NIC reach the peer from its own address?",
	  probe_paths, "Look at the route from that address (ip route get PEER from ADDRESS), the "
	  "firewall of both sides and of the network, and whether tcpx serve runs there." },
	{ "peer-ports", CHECK_ERROR, "Do data connections reach the peer, and the peer's us?",
	  probe_ports, "Refused or silent, though the control port is open, is a packet filter. Allow "
	  "TCP to net.ipv4.ip_local_port_range on the machine that the arrow points to, and in the "
	  "network between." },
	{ "firewall", CHECK_WARNING, "Does the filter here let connections come in?", probe_firewall,
	  "Allow TCP from the peers to TCPX_PORT and to the local ports "
	  "(net.ipv4.ip_local_port_range) on the data NICs." },
	{ "somaxconn", CHECK_WARNING, "May 128 connections wait to be accepted?", probe_somaxconn,
	  "sysctl net.core.somaxconn=4096: many peers may come at once." },
	{ "socket-max", CHECK_NOTE, "May programs ask for buffers of 4 MiB?", probe_socket_max,
	  "sysctl net.core.rmem_max=16777216 net.core.wmem_max=16777216; tcpx leaves sizes to the "
	  "kernel and does not need it." },
	{ "optmem", CHECK_NOTE, "Is there room for zero-copy notifications?", probe_optmem,
	  "sysctl net.core.optmem_max=1048576, or sends wait with ENOBUFS." },
};

const size_t checks_path_count = ARRAY_LEN(checks_path);
