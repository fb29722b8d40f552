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
#include "tune/doctor/peer_reach.h"
#include "tune/doctor/peer_route.h"
#include "tool/reach.h"
#include "tool/tool.h"
#include "tune/facts/text.h"

#define ROUTE_BYTES 65536

static uint16_t
control_port(const struct machine *m)
{
	uint16_t port = machine_port(m);

	return port ? port : MACHINE_SERVE_PORT;
}

static bool
has_peer(const struct machine *m, struct check_result *r)
{
	if (!m->peer)
		check_skip(r, "--peer names no other machine");
	return m->peer != NULL;
}

/* The peers; false: the check has its answer. */
static bool
get_peers(const struct machine *m, struct peer_addr *peer, unsigned *count, struct check_result *r)
{
	char why[192];

	if (!has_peer(m, r))
		return false;
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

/* A socket that is bound to a device uses the routes of that device, whatever the first one
 * is. */
static bool
has_way(const struct machine *m, const char *route, const struct tcpx_addr *to)
{
	for (unsigned i = 0; i < m->nic_count; i++)
		if (tcpx_host_nic_binds(&m->nics[i]) ? peer_route_by(route, to, m->nics[i].ifname) :
						       !is_loopback(&m->nics[i].addr))
			return true;
	return false;
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
	} else if (!has_way(m, route, &p->addr)) {
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

/* The findings on the way to the peer; NULL: the check has its answer. */
static const struct reach *
get_reach(const struct machine *m, struct check_result *r)
{
	struct reach *reach = m->reach;

	if (!has_peer(m, r) || !check_here(m, r) ||
	    (!reach->done && !get_peers(m, reach->peer, &reach->peer_count, r)))
		return NULL;
	if (!reach->done)
		peer_reach(m, reach);
	return reach;
}

/* The findings for checks that can do without them; NULL: there are none. */
static const struct reach *
get_reach_quietly(const struct machine *m)
{
	struct check_result own = { .status = CHECK_UNKNOWN };

	return m->peer && m->here ? get_reach(m, &own) : NULL;
}

static const char *
outcome(int error)
{
	return error == ECONNREFUSED ? "is refused" : error == ETIMEDOUT ? "is silent" :
	       error == EHOSTUNREACH || error == ENETUNREACH ? "is unreachable" : strerror(error);
}

static bool
answers(const struct reach_pair *p)
{
	return p->path == 0 || p->path == ECONNREFUSED;
}

static bool
connects(const struct reach_pair *p)
{
	return p->data == 0;
}

static bool
comes_back(const struct reach_pair *p)
{
	return p->back == REACH_OPEN;
}

/* True: this NIC of ours, or of the peer, is in a pair that @good accepts. */
static bool
nic_has(const struct reach *reach, unsigned nic, bool (*good)(const struct reach_pair *p))
{
	for (unsigned i = 0; i < reach->pair_count; i++)
		if (reach->pair[i].nic == nic && good(&reach->pair[i]))
			return true;
	return false;
}

static bool
far_has(const struct reach *reach, unsigned far, bool (*good)(const struct reach_pair *p))
{
	for (unsigned i = 0; i < reach->pair_count; i++)
		if (reach->pair[i].far == far && good(&reach->pair[i]))
			return true;
	return false;
}

static void
judge_pairs(const struct reach *reach, unsigned pairs, struct check_result *r)
{
	char more[48] = "";

	if (reach->left_out)
		snprintf(more, sizeof(more), "; %u more were not tried", reach->left_out);
	check_judge(r, "%u pair%s of NICs%s", pairs, pairs == 1 ? "" : "s", more);
}

static void
judge_controls(const struct reach *reach, struct check_result *r)
{
	for (unsigned i = 0; i < reach->peer_count; i++)
		if (reach->control[i])
			check_add(r, "%s port %u %s%s", reach->peer[i].text, reach->peer[i].port,
				  outcome(reach->control[i]), reach->control[i] == ECONNREFUSED ?
				  ": nobody listens there" : "");
}

static void
add_way(const struct machine *m, const struct reach *reach, const struct reach_pair *p,
	const struct reach_way *way, const char *arrow, struct check_result *r)
{
	check_add(r, "%s %s %s: packets of %u bytes are lost, those of %u pass, MTU %u here, %u there",
		  m->nics[p->nic].name, arrow, reach->far[p->far].text, way->full, way->passes, p->mtu,
		  p->far_mtu);
}

void
check_add_sizes(const struct machine *m, struct check_result *r)
{
	const struct reach *reach = get_reach_quietly(m);

	for (unsigned i = 0; reach && i < reach->pair_count; i++) {
		const struct reach_pair *p = &reach->pair[i];

		if (p->out.small && p->in.small && p->out.passes == p->in.passes) {
			add_way(m, reach, p, &p->out, "<->", r);
			continue;
		}
		if (p->out.small)
			add_way(m, reach, p, &p->out, "->", r);
		if (p->in.small)
			add_way(m, reach, p, &p->in, "<-", r);
	}
}

bool
check_meets_peer(const struct machine *m, const struct tcpx_host_nic *nic)
{
	const struct reach *reach = get_reach_quietly(m);
	bool all = false;

	for (unsigned i = 0; reach && i < reach->pair_count; i++) {
		const struct reach_pair *p = &reach->pair[i];

		if (!strcmp(m->nics[p->nic].ifname, nic->ifname) &&
		    !(all = connects(p) && comes_back(p)))
			return false;
	}
	return all;
}

static void
probe_paths(const struct machine *m, struct check_result *r)
{
	const struct reach *reach = get_reach(m, r);
	unsigned pairs = 0;

	if (!reach)
		return;
	judge_controls(reach, r);
	for (unsigned i = 0; i < reach->pair_count; i++)
		pairs += answers(&reach->pair[i]);
	for (unsigned i = 0; pairs && i < reach->pair_count; i++) {
		const struct reach_pair *p = &reach->pair[i];

		if (!nic_has(reach, p->nic, answers))
			check_add(r, "%s -> %s port %u %s", m->nics[p->nic].name,
				  reach->far[p->far].host, reach->far[p->far].control,
				  outcome(p->path));
	}
	check_add_sizes(m, r);
	if (!r->evidence[0] && !pairs)
		check_unknown(r, "not tried: none of our NICs may meet one of the peer's");
	else
		judge_pairs(reach, pairs, r);
}

/* Data ports there, by the tcpx serve there. A NIC that reaches one of several is well, and
 * so is one that is reached. */
static void
probe_ports(const struct machine *m, struct check_result *r)
{
	const struct reach *reach = get_reach(m, r);
	unsigned pairs = 0;

	if (!reach)
		return;
	if (*reach->silent)
		check_add(r, "here -> %s", reach->silent);
	else if (*reach->not_tried)
		return check_unknown(r, "not tried: %s", reach->not_tried);
	for (unsigned i = 0; i < reach->pair_count; i++) {
		const struct reach_pair *p = &reach->pair[i];

		pairs += p->data == 0;
		if (p->data && p->data != EINPROGRESS &&
		    (!nic_has(reach, p->nic, connects) ||
		     (p->subnet && !far_has(reach, p->far, connects))))
			check_add(r, "%s -> %s %s", m->nics[p->nic].name, reach->far[p->far].text,
				  outcome(p->data));
	}
	judge_pairs(reach, pairs, r);
}

/* Names the address that the peer tried: behind a translation it is not ours. */
static void
judge_back(const struct machine *m, const struct reach *reach, const struct reach_pair *p,
	   struct check_result *r)
{
	const struct tcpx_host_nic *nic = &m->nics[p->nic];
	struct tcpx_addr tried = { 0 };
	char own[TCPX_HOST_ADDR_TEXT], translated[192] = "";

	if (tcpx_addr_parse(p->tried, &tried) == 0 && !tcpx_addr_same_host(&tried, &nic->addr)) {
		tcpx_addr_format(&nic->addr, own, sizeof(own));
		snprintf(translated, sizeof(translated), ", as the peer sees %s: there is a translation "
			 "between", own);
	}
	check_add(r, "%s -> %s (%s%s) %s", reach->far[p->far].host, p->tried, nic->name, translated,
		  p->back == REACH_REFUSED ? "is refused" :
		  p->back == REACH_SILENT ? "is silent" : "has no way");
}

static void
probe_back(const struct machine *m, struct check_result *r)
{
	const struct reach *reach = get_reach(m, r);
	unsigned pairs = 0, tried = 0;

	if (!reach)
		return;
	for (unsigned i = 0; i < reach->pair_count; i++) {
		const struct reach_pair *p = &reach->pair[i];

		tried += p->back != 0;
		pairs += comes_back(p);
		if (p->back && !nic_has(reach, p->nic, comes_back))
			judge_back(m, reach, p, r);
	}
	if (!tried)
		check_unknown(r, "not tried: %s", *reach->not_tried ? reach->not_tried :
			      "that needs a connection there first");
	else
		judge_pairs(reach, pairs, r);
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
	{ "peer-paths", CHECK_ERROR, "Does each NIC reach the peer, by packets of all sizes?",
	  probe_paths, "Look at the route from that NIC (ip route get PEER oif NIC), the firewall of "
	  "both sides and of the network, and whether tcpx serve runs there. Where packets of a size "
	  "are lost, set an MTU that the network carries: ip link set NIC mtu BYTES, on both sides." },
	{ "peer-ports", CHECK_ERROR, "Do data connections reach the peer's NICs?",
	  probe_ports, "Refused or silent, though the control port is open, is a packet filter, or a "
	  "NIC that answers for another (tcpx doctor --only subnets, there, too). Allow TCP to "
	  "TCPX_PORTS, or net.ipv4.ip_local_port_range, on the machine that the arrow points to, and "
	  "in the network between." },
	{ "peer-back", CHECK_NOTE, "Do connections of the peer reach our NICs?", probe_back,
	  "A session that is opened here needs none. For one that the peer opens allow TCP to "
	  "TCPX_PORTS, or net.ipv4.ip_local_port_range, on this machine and in the network between." },
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
