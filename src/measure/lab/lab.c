/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making and removing a lab. The journal's file name reserves the lab's name. The journal
 * is written before the first namespace and removed after the last.
 */
#include "measure/lab/lab.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "measure/lab/namespace.h"
#include "tool/tool.h"

static const char command[] = "tcpx lab";

bool
lab_name_allowed(const char *name)
{
	size_t len = strlen(name);

	return len && len < LAB_NAME_MAX && islower((unsigned char)*name) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == len;
}

const char *
lab_ns_name(const char *lab, int host, char *buf, size_t cap)
{
	if (host == LAB_FABRIC)
		snprintf(buf, cap, "tcpx-%s-fabric", lab);
	else
		snprintf(buf, cap, "tcpx-%s-h%d", lab, host);
	return buf;
}

bool
lab_ns_parse(const char *ns_name, char *lab, int *host)
{
	const char *tail = strrchr(ns_name, '-');
	char again[64];
	int number = LAB_FABRIC;

	if (strncmp(ns_name, "tcpx-", 5) || tail < ns_name + 5 ||
	    tail - ns_name - 5 >= LAB_NAME_MAX)
		return false;
	if (strcmp(tail, "-fabric") && sscanf(tail, "-h%2d", &number) != 1)
		return false;
	snprintf(lab, LAB_NAME_MAX, "%.*s", (int)(tail - ns_name - 5), ns_name + 5);
	*host = number;
	/* "h+1", "h01" and the like are not ours */
	return lab_name_allowed(lab) &&
	       !strcmp(ns_name, lab_ns_name(lab, number, again, sizeof(again)));
}

int
lab_rates_parse(struct lab *lab, const char *text)
{
	uint64_t rates[LAB_NICS_MAX];
	unsigned count = 0;

	for (const char *at = text; at; count++) {
		char one[32];
		size_t len = strcspn(at, ",");
		int rc;

		if (len >= sizeof(one) || count == LAB_NICS_MAX)
			return -EINVAL;
		memcpy(one, at, len);
		one[len] = '\0';
		rc = tcpx_parse_decimal(one, &rates[count]);
		if (rc)
			return rc;
		if (rates[count] && (rates[count] < 1000000 || rates[count] > 400000000000))
			return -ERANGE;
		at = at[len] ? at + len + 1 : NULL;
	}
	if (count != 1 && count != lab->nics)
		return -EINVAL;
	for (unsigned k = 0; k < lab->nics; k++)
		lab->rate_bps[k] = rates[count == 1 ? 0 : k];
	return 0;
}

uint32_t
lab_addr(unsigned host, unsigned nic)
{
	return 10u << 24 | 77u << 16 | nic << 8 | (host + 1);
}

static const char *
journal_path(const char *name, char *buf, size_t cap)
{
	snprintf(buf, cap, LAB_DIR "/%s.json", name);
	return buf;
}

/* Fails with EEXIST while a lab of that name exists, whole or not. */
static int
journal_create(const struct lab *lab)
{
	json_t *rates = json_array(), *root;
	char path[256];
	int fd = -1, rc;

	for (unsigned k = 0; k < lab->nics; k++)
		json_array_append_new(rates, json_integer((json_int_t)lab->rate_bps[k]));
	root = json_pack("{s:s, s:i, s:i, s:i, s:o, s:i}", "name", lab->name, "hosts", lab->hosts,
			 "nics", lab->nics, "mtu", lab->mtu, "rate_bps", rates, "pid", getpid());
	if (!root)
		return -ENOMEM;

	journal_path(lab->name, path, sizeof(path));
	/* a `down` of another lab may remove the empty directory in between */
	for (int tries = 0; tries < 3; tries++) {
		mkdir(LAB_DIR, 0755);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd >= 0 || errno != ENOENT)
			break;
	}
	if (fd < 0) {
		rc = -errno;
		goto free_root;
	}
	rc = json_dumpfd(root, fd, JSON_INDENT(2)) || fsync(fd) < 0 ? -EIO : 0;
	close(fd);
	if (rc)
		unlink(path);
free_root:
	json_decref(root);
	return rc;
}

/* The next namespace in the directory that belongs to lab @name; false at the end. */
static bool
next_of_lab(DIR *dir, const char *name, char *ns_name, size_t cap)
{
	const struct dirent *d;
	char lab[LAB_NAME_MAX];
	int host;

	while (dir && (d = readdir(dir))) {
		if (lab_ns_parse(d->d_name, lab, &host) && !strcmp(lab, name)) {
			snprintf(ns_name, cap, "%s", d->d_name);
			return true;
		}
	}
	return false;
}

static bool
any_of_lab(const char *name)
{
	DIR *dir = opendir(LAB_NS_DIR);
	char ns_name[256];
	bool found = next_of_lab(dir, name, ns_name, sizeof(ns_name));

	if (dir)
		closedir(dir);
	return found;
}

/* ---- up -------------------------------------------------------------------------- */

struct place {
	int ns;
	int sock;
};

struct build {
	const struct lab *lab;
	struct place host[LAB_HOSTS_MAX];
	struct place fabric;
};

/* Sends every request of a build; a refusal is printed once, with its object. */
static int
ask(const struct place *at, struct tcpx_nl *m, const char *what, unsigned host, unsigned nic)
{
	char why[128];
	int rc = lab_ns_ask(at->sock, m, why, sizeof(why));

	if (rc)
		tool_fail(0, command, "%s for NIC eth%u of host h%u: %s%s%s", what, nic, host,
			  strerror(-rc), *why ? ": " : "", why);
	return rc;
}

static int
place_create(struct place *p, const char *lab, int host)
{
	struct tcpx_nl m;
	char name[64], why[128];
	int rc = lab_ns_create(lab_ns_name(lab, host, name, sizeof(name)));

	if (!rc)
		rc = p->ns = lab_ns_open(name);
	if (rc >= 0)
		rc = p->sock = lab_ns_socket(p->ns);
	if (rc >= 0) {
		lab_nl_link_up(&m, 1, 0); /* lo */
		rc = lab_ns_ask(p->sock, &m, why, sizeof(why));
	}
	if (rc < 0)
		return tool_fail(rc, command, "namespace %s: %s", name, strerror(-rc));
	return 0;
}

static void
place_close(struct place *p)
{
	if (p->sock >= 0)
		close(p->sock);
	if (p->ns >= 0)
		close(p->ns);
}

int
lab_nic_index(unsigned nic)
{
	return (int)nic + 2; /* 1 is lo */
}

/* Makes NIC @nic of every host and its segment: one veth pair, or a port of a bridge each. */
static int
build_segment(struct build *b, unsigned nic)
{
	const struct lab *lab = b->lab;
	char name[32], other[48]; /* in use: below IFNAMSIZ */
	struct lab_nl_end end = { name, lab_nic_index(nic) }, far = { other, 0 };
	struct tcpx_nl m;
	int rc;

	snprintf(name, sizeof(name), "eth%u", nic);
	if (lab->hosts == 2) {
		lab_nl_veth(&m, end, end, b->host[1].ns, lab->mtu);
		return ask(&b->host[0], &m, "veth", 0, nic);
	}

	snprintf(other, sizeof(other), "br%u", nic);
	far.index = lab_nic_index(nic);
	lab_nl_bridge(&m, far, lab->mtu);
	rc = ask(&b->fabric, &m, "bridge", 0, nic);
	lab_nl_link_up(&m, lab_nic_index(nic), 0);
	rc = rc ? rc : ask(&b->fabric, &m, "bridge up", 0, nic);
	for (unsigned i = 0; i < lab->hosts && !rc; i++) {
		snprintf(other, sizeof(other), "h%un%u", i, nic);
		far.index = lab_nic_index((i + 1) * lab->nics + nic);
		lab_nl_veth(&m, end, far, b->fabric.ns, lab->mtu);
		rc = ask(&b->host[i], &m, "veth", i, nic);
		lab_nl_link_up(&m, far.index, lab_nic_index(nic));
		rc = rc ? rc : ask(&b->fabric, &m, "bridge port", i, nic);
	}
	return rc;
}

static int
build_nic(struct build *b, unsigned host, unsigned nic)
{
	const struct place *at = &b->host[host];
	uint64_t rate_bps = b->lab->rate_bps[nic];
	struct tcpx_nl m;
	int rc;

	lab_nl_addr(&m, lab_nic_index(nic), lab_addr(host, nic), 24);
	rc = ask(at, &m, "address", host, nic);
	if (rc)
		return rc;
	if (rate_bps) {
		struct lab_nl_tbf tbf = lab_nl_tbf_for(rate_bps);

		lab_nl_tbf(&m, lab_nic_index(nic), &tbf);
		rc = ask(at, &m, "rate limit (tbf)", host, nic);
		if (rc)
			return rc;
	}
	lab_nl_link_up(&m, lab_nic_index(nic), 0);
	return ask(at, &m, "link up", host, nic);
}

static int
build_lab(struct build *b)
{
	const struct lab *lab = b->lab;
	int rc = 0;

	for (unsigned i = 0; i < lab->hosts && !rc; i++)
		rc = place_create(&b->host[i], lab->name, (int)i);
	if (!rc && lab->hosts > 2)
		rc = place_create(&b->fabric, lab->name, LAB_FABRIC);
	for (unsigned k = 0; k < lab->nics && !rc; k++)
		rc = build_segment(b, k);
	for (unsigned i = 0; i < lab->hosts && !rc; i++)
		for (unsigned k = 0; k < lab->nics && !rc; k++)
			rc = build_nic(b, i, k);
	for (unsigned i = 0; i < lab->hosts && !rc; i++) {
		rc = lab_ns_settle(b->host[i].ns, 5000);
		if (rc)
			tool_fail(0, command, "NICs of host h%u do not come up: %s", i,
				  strerror(-rc));
	}
	return rc;
}

int
lab_up(const struct lab *lab)
{
	struct build b = { .lab = lab, .fabric = { -1, -1 } };
	int rc = any_of_lab(lab->name) ? -EEXIST : journal_create(lab);

	if (rc == -EEXIST)
		return tool_fail(TOOL_USAGE, command,
				 "lab '%s' is there already; `tcpx lab down --name %s` removes it",
				 lab->name, lab->name);
	if (rc)
		return tool_fail(rc == -EACCES ? TOOL_DENIED : TOOL_ROLLED_BACK, command,
				 "journal in %s: %s", LAB_DIR, strerror(-rc));

	for (unsigned i = 0; i < LAB_HOSTS_MAX; i++)
		b.host[i] = (struct place){ -1, -1 };
	rc = build_lab(&b);
	for (unsigned i = 0; i < LAB_HOSTS_MAX; i++)
		place_close(&b.host[i]);
	place_close(&b.fabric);
	if (!rc)
		return TOOL_OK;

	if (lab_down(lab->name) != TOOL_OK)
		return TOOL_HALF;
	tool_fail(0, command, "rolled back: nothing of lab '%s' is left", lab->name);
	return rc == -EPERM || rc == -EACCES || rc == -EOPNOTSUPP ? TOOL_DENIED : TOOL_ROLLED_BACK;
}

/* ---- down ------------------------------------------------------------------------ */

/* Deletes the links of a namespace. The namespace itself lives on while a process is in it. */
static int
delete_links(const char *ns_name)
{
	int home = lab_ns_self(), ns = lab_ns_open(ns_name), sock = -1, rc = 0;
	struct if_nameindex *links = NULL;
	struct tcpx_nl m;
	char why[128];

	if (home < 0 || ns < 0 || lab_ns_enter(ns) < 0)
		goto close_fds; /* a name without a namespace has no links */
	sock = lab_ns_socket(ns);
	links = if_nameindex();
	rc = lab_ns_enter(home);
	for (struct if_nameindex *l = links; l && l->if_index && sock >= 0; l++) {
		if (!strcmp(l->if_name, "lo"))
			continue;
		lab_nl_link_delete(&m, (int)l->if_index);
		lab_ns_ask(sock, &m, why, sizeof(why)); /* its other end may go first */
	}
	if_freenameindex(links);

close_fds:
	if (sock >= 0)
		close(sock);
	if (ns >= 0)
		close(ns);
	if (home >= 0)
		close(home);
	return rc;
}

int
lab_down(const char *name)
{
	char ns_name[256], path[256];
	DIR *dir = opendir(LAB_NS_DIR);
	bool found = false, failed = false;

	while (next_of_lab(dir, name, ns_name, sizeof(ns_name))) {
		int rc = delete_links(ns_name);

		rc = rc ? rc : lab_ns_delete(ns_name);
		found = true;
		if (rc) {
			failed = true;
			tool_fail(0, command, "cannot remove %s: %s", ns_name, strerror(-rc));
		}
	}
	if (dir)
		closedir(dir);
	if (failed) /* the journal stays for the next try */
		return TOOL_HALF;

	if (!unlink(journal_path(name, path, sizeof(path))))
		found = true;
	else if (errno != ENOENT)
		return tool_fail(TOOL_HALF, command, "cannot remove %s: %s", path, strerror(errno));
	rmdir(LAB_DIR); /* it stays while other labs exist */
	if (!found)
		return tool_fail(TOOL_USAGE, command, "there is no lab '%s'", name);
	return TOOL_OK;
}
