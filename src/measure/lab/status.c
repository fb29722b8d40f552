/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The existing labs. Hosts, NICs and their state are read from the namespaces; only the
 * rates and the wanted numbers of hosts and NICs come from the journal.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/lab/lab.h"
#include "measure/lab/namespace.h"
#include "tool/tool.h"

static const char command[] = "tcpx lab";

/* Process ids whose network namespace is @ns. */
static json_t *
pids_in(int ns)
{
	json_t *pids = json_array();
	DIR *proc = opendir("/proc");
	const struct dirent *d;
	struct stat want, got;
	char path[300];

	while (proc && !fstat(ns, &want) && (d = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/ns/net", d->d_name);
		if (isdigit((unsigned char)d->d_name[0]) && !stat(path, &got) &&
		    got.st_ino == want.st_ino && got.st_dev == want.st_dev &&
		    atoi(d->d_name) != getpid())
			json_array_append_new(pids, json_integer(atoi(d->d_name)));
	}
	if (proc)
		closedir(proc);
	return pids;
}

/* The NICs of the namespace the process is in, by name. */
static json_t *
nics_here(json_t *rates)
{
	json_t *nics = json_array();
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) < 0)
		return nics;
	for (const struct ifaddrs *link = all; link; link = link->ifa_next) {
		const struct rtnl_link_stats *stats = link->ifa_data;
		char addr[INET_ADDRSTRLEN] = "";
		int k = -1;

		if (!link->ifa_addr || link->ifa_addr->sa_family != AF_PACKET ||
		    sscanf(link->ifa_name, "eth%d", &k) != 1)
			continue;
		for (const struct ifaddrs *a = all; a; a = a->ifa_next)
			if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET &&
			    !strcmp(a->ifa_name, link->ifa_name))
				inet_ntop(AF_INET, &((struct sockaddr_in *)a->ifa_addr)->sin_addr,
					  addr, sizeof(addr));
		json_array_append_new(nics, json_pack(
			"{s:s, s:s, s:I, s:b, s:I, s:I}", "name", link->ifa_name, "address", addr,
			"rate_bps", json_integer_value(json_array_get(rates, (size_t)k)), "up",
			(link->ifa_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING),
			"tx_bytes", (json_int_t)(stats ? stats->tx_bytes : 0),
			"rx_bytes", (json_int_t)(stats ? stats->rx_bytes : 0)));
	}
	freeifaddrs(all);
	return nics;
}

static json_t *
read_host(const char *lab, int host, json_t *rates, int home)
{
	char ns_name[64], name[16];
	int ns = lab_ns_open(lab_ns_name(lab, host, ns_name, sizeof(ns_name)));
	json_t *pids = ns < 0 ? json_array() : pids_in(ns);
	json_t *nics;

	if (ns < 0 || lab_ns_enter(ns) < 0) { /* half-made: a name without a namespace */
		nics = json_array();
	} else {
		nics = nics_here(rates);
		lab_ns_enter(home);
	}
	if (ns >= 0)
		close(ns);
	snprintf(name, sizeof(name), "h%d", host);
	return json_pack("{s:s, s:s, s:o, s:o}", "host", name, "namespace", ns_name, "pids", pids,
			 "nics", nics);
}

static int
compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static json_t *
read_lab(const char *name, int home)
{
	json_t *hosts = json_array(), *journal, *rates;
	int numbers[LAB_HOSTS_MAX], count = 0, host;
	DIR *dir = opendir(LAB_NS_DIR);
	const struct dirent *d;
	char lab[LAB_NAME_MAX], path[256];
	bool whole;

	snprintf(path, sizeof(path), LAB_DIR "/%s.json", name);
	journal = json_load_file(path, 0, NULL);
	rates = json_object_get(journal, "rate_bps");
	while (dir && (d = readdir(dir)))
		if (lab_ns_parse(d->d_name, lab, &host) && !strcmp(lab, name) &&
		    host != LAB_FABRIC && count < LAB_HOSTS_MAX)
			numbers[count++] = host;
	if (dir)
		closedir(dir);

	qsort(numbers, (size_t)count, sizeof(numbers[0]), compare_ints);
	whole = count && count == json_integer_value(json_object_get(journal, "hosts"));
	for (int i = 0; i < count; i++) {
		json_t *h = read_host(name, numbers[i], rates, home);

		whole = whole && (json_int_t)json_array_size(json_object_get(h, "nics")) ==
				 json_integer_value(json_object_get(journal, "nics"));
		json_array_append_new(hosts, h);
	}
	json_decref(journal);
	return json_pack("{s:s, s:b, s:o}", "name", name, "whole", whole, "hosts", hosts);
}

/* Adds the labs that entries of @path belong to, each once: @journals or namespaces. */
static void
collect_names(const char *path, bool journals, json_t *names)
{
	DIR *dir = opendir(path);
	const struct dirent *d;
	char lab[256];
	int host;

	while (dir && (d = readdir(dir))) {
		if (journals) {
			char *dot = strrchr(strcpy(lab, d->d_name), '.');

			if (!dot || strcmp(dot, ".json"))
				continue;
			*dot = '\0';
			if (!lab_name_allowed(lab))
				continue;
		} else if (!lab_ns_parse(d->d_name, lab, &host)) {
			continue;
		}
		json_object_set_new(names, lab, json_true());
	}
	if (dir)
		closedir(dir);
}

int
lab_status(const char *name, json_t **out)
{
	json_t *names = json_object(), *labs = json_array(), *unused;
	int home = lab_ns_self(), rc = TOOL_OK;
	const char *lab;

	collect_names(LAB_NS_DIR, false, names);
	collect_names(LAB_DIR, true, names);
	if (home < 0) {
		rc = tool_fail(TOOL_DENIED, command, "/proc/self/ns/net: %s", strerror(-home));
	} else if (name && !json_object_get(names, name)) {
		rc = tool_fail(TOOL_USAGE, command, "there is no lab '%s'", name);
	} else {
		json_object_foreach(names, lab, unused)
			if (!name || !strcmp(name, lab))
				json_array_append_new(labs, read_lab(lab, home));
	}
	if (home >= 0)
		close(home);
	json_decref(names);
	if (rc) {
		json_decref(labs);
		return rc;
	}
	*out = json_pack("{s:o}", "labs", labs);
	return TOOL_OK;
}
