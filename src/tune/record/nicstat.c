/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of NICs: files, and the ioctl of ethtool, for which netlink has no equal. */
#include "tune/record/nicstat.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "host/io.h"

#define COUNTERS_BYTES (4u << 20)

struct list {
	struct tcpx_nicstat *at;
	unsigned count, room;
	bool bad; /* no memory */
};

static void
add(struct list *list, const char *name, size_t len, bool driver, uint64_t value)
{
	struct tcpx_nicstat *larger;

	if (list->bad || list->count == TCPX_NICSTAT_MAX)
		return;
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		larger = realloc(list->at, list->room * sizeof(*larger));
		if (!larger) {
			list->bad = true;
			return;
		}
		list->at = larger;
	}
	list->at[list->count] = (struct tcpx_nicstat){ .driver = driver, .value = value };
	if (len >= sizeof(list->at->name))
		len = sizeof(list->at->name) - 1;
	memcpy(list->at[list->count++].name, name, len);
}

/* ---- files ------------------------------------------------------------------------ */

static void
read_files(const char *root, const char *ifname, struct list *list)
{
	struct tcpx_io_names names;
	char dir[96], path[400];
	long long value;

	snprintf(dir, sizeof(dir), "/sys/class/net/%s/statistics", ifname);
	if (tcpx_io_list(root, dir, &names) < 0)
		return;
	for (unsigned i = 0; i < names.count; i++) {
		const char *name = names.entry[i]->d_name;

		if (tcpx_io_join(path, sizeof(path), "%s/%s", dir, name) &&
		    tcpx_io_read_number(root, path, &value) == 0)
			add(list, name, strlen(name), false, (uint64_t)value);
	}
	tcpx_io_names_free(&names);
}

/* Reads the file "counters" of another root. */
static const char *
read_told(const char *root, const char *ifname, struct list *list)
{
	char nic[32], name[64], number[32], *text, *line, *rest;
	const char *why = "the tree does not tell";
	uint64_t value;
	size_t len;

	if (tcpx_io_slurp(root, "/counters", COUNTERS_BYTES, &text, &len) < 0)
		return why;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "%31s %63s %31s", nic, name, number) != 3 ||
		    strcmp(nic, ifname) != 0 || tcpx_parse_count(number, &value) < 0)
			continue;
		add(list, name, strlen(name), true, value);
		why = NULL;
	}
	free(text);
	return why;
}

/* ---- ethtool ---------------------------------------------------------------------- */

static unsigned
ask_count(const struct tcpx_asker *a, const char *ifname)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t count;
	} set = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_STATS } };

	if (tcpx_asker_ioctl(a, ifname, &set) < 0 || !set.info.sset_mask)
		return 0;
	return set.count < TCPX_NICSTAT_MAX ? set.count : TCPX_NICSTAT_MAX;
}

static const char *
ask_driver(const struct tcpx_asker *a, const char *ifname, struct list *list)
{
	struct ethtool_gstrings *names;
	struct ethtool_stats *values;
	const char *why = NULL;
	unsigned n;

	if (a->ioctl_fd < 0)
		return "no socket to ask by";
	n = ask_count(a, ifname);
	if (n == 0)
		return "the driver has none";
	/* the kernel writes all counters, not the requested number: leave room for a driver
	 * whose number grows in between */
	names = calloc(1, sizeof(*names) + 2 * (size_t)n * ETH_GSTRING_LEN);
	values = calloc(1, sizeof(*values) + 2 * (size_t)n * sizeof(values->data[0]));
	if (!names || !values) {
		list->bad = true;
	} else {
		names->cmd = ETHTOOL_GSTRINGS;
		names->string_set = ETH_SS_STATS;
		names->len = n;
		values->cmd = ETHTOOL_GSTATS;
		values->n_stats = n;
		if (tcpx_asker_ioctl(a, ifname, names) < 0 ||
		    tcpx_asker_ioctl(a, ifname, values) < 0)
			why = "the driver refuses to tell";
		n = n < names->len ? n : names->len;
		for (unsigned i = 0; !why && i < n && i < values->n_stats; i++) {
			const char *name = (const char *)&names->data[i * ETH_GSTRING_LEN];

			add(list, name, strnlen(name, ETH_GSTRING_LEN), true, values->data[i]);
		}
	}
	free(names);
	free(values);
	return why;
}

int
tcpx_nicstat_read(const char *root, const struct tcpx_asker *a, const char *ifname,
		  struct tcpx_nicstat **out, unsigned *count, const char **why)
{
	struct list list = { .at = NULL };

	read_files(root, ifname, &list);
	*why = tcpx_io_is_machine(root) ? ask_driver(a, ifname, &list)
					: read_told(root, ifname, &list);
	if (list.bad) {
		free(list.at);
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "counters of %s", ifname);
	}
	*out = list.at;
	*count = list.count;
	return 0;
}

const struct tcpx_nicstat *
tcpx_nicstat_find(const struct tcpx_nicstat *stats, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(stats[i].name, name))
			return &stats[i];
	return NULL;
}
