/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cpuset of this process, of either version of control groups; a machine may have both
 * mounted. A container sees its own group at the top of the mount: the nearest directory
 * above with the file counts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/io.h"
#include "tune/facts/topo_part.h"

#define CGROUP_BYTES 16384

/* Looks for @file in @mount/@group and above, up to the mount. */
static bool
look_up(const char *root, const char *mount, const char *group, const char *file,
	struct tcpx_topo *topo)
{
	char dir[256], *end;

	if (!tcpx_io_join(dir, sizeof(dir), "%s", strcmp(group, "/") ? group : ""))
		return false;
	for (;;) {
		if (tcpx_io_join(topo->cgroup_file, sizeof(topo->cgroup_file), "%s%s/%s", mount,
				 dir, file)) {
			tcpx_maybe_list(root, topo->cgroup_file, &topo->cgroup);
			/* a version 1 group that was never set up has an empty list */
			if (!topo->cgroup.why && !tcpx_cpuset_empty(&topo->cgroup.cpus))
				return true;
		}
		end = strrchr(dir, '/');
		if (!end)
			return false;
		*end = '\0';
	}
}

/* Of "9:cpuset,cpu:/group": the group, if the list has that controller ("" for version 2). */
static char *
group_of(char *line, const char *controller)
{
	char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL, *rest, *word;

	if (!group)
		return NULL;
	*group++ = '\0';
	list++;
	if (!*list || !*controller)
		return !*list && !*controller ? group : NULL;
	for (word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		if (!strcmp(word, controller))
			return group;
	return NULL;
}

static bool
look_for(const char *root, const char *text, const char *controller, const char *mount,
	 const char *file, struct tcpx_topo *topo)
{
	char copy[CGROUP_BYTES], *rest, *line, *group;

	snprintf(copy, sizeof(copy), "%s", text);
	for (line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		group = group_of(line, controller);
		if (group && look_up(root, mount, group, file, topo))
			return true;
	}
	return false;
}

void
tcpx_topo_cgroup_read(const char *root, struct tcpx_topo *topo)
{
	static const struct {
		const char *controller, *mount, *file;
	} places[] = {
		{ "", "/sys/fs/cgroup", "cpuset.cpus.effective" },
		{ "", "/sys/fs/cgroup/unified", "cpuset.cpus.effective" },
		{ "cpuset", "/sys/fs/cgroup/cpuset", "cpuset.effective_cpus" },
		{ "cpuset", "/sys/fs/cgroup/cpuset", "cpuset.cpus" },
	};
	char text[CGROUP_BYTES];
	int rc = tcpx_io_read(root, "/proc/self/cgroup", text, sizeof(text));

	for (size_t i = 0; rc >= 0 && i < sizeof(places) / sizeof(places[0]); i++)
		if (look_for(root, text, places[i].controller, places[i].mount, places[i].file,
			     topo))
			return;
	topo->cgroup_file[0] = '\0';
	tcpx_cpuset_init(&topo->cgroup.cpus);
	topo->cgroup.why = rc < 0 ? tcpx_maybe_why(rc) : "no cpuset file is mounted";
}
