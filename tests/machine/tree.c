/* SPDX-License-Identifier: Apache-2.0 */
/* Assembling a tree: identity, CPUs, nodes, this process. */
#include "machine/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/tree_file.h"

#define CPU "sys/devices/system/cpu"
#define NODE "sys/devices/system/node"

static void
write_identity(struct tree *t)
{
	char id[48];

	tcpx_tree_put(t, t->m->name, TCPX_TREE_MARK);
	tcpx_tree_put(t, "6.8.0-tree", "proc/sys/kernel/osrelease");
	snprintf(id, sizeof(id), "%08x-0000-4000-8000-%012llx", 0x7ee0u,
		 (unsigned long long)(tcpx_machine_hash(t->m) & 0xffffffffffff));
	tcpx_tree_put(t, *t->m->boot_id ? t->m->boot_id : id, "proc/sys/kernel/random/boot_id");
}

static void
write_process(struct tree *t)
{
	struct tcpx_text status = { .at = NULL };

	tcpx_cpuset_format(&t->m->allowed, t->list, t->list_room);
	tcpx_text_add(&status, "Name:\ttcpx\nCpus_allowed_list:\t%s\nThreads:\t1\n", t->list);
	tcpx_tree_put_text(t, &status, "proc/self/status");
	tcpx_tree_put(t, "0::/job", "proc/self/cgroup");
	tcpx_tree_put_list(t, &t->m->allowed, "sys/fs/cgroup/job/cpuset.cpus.effective");
}

static void
write_core(struct tree *t, const struct tcpx_machine_core *core, const struct tcpx_cpuset *l3)
{
	struct tcpx_cpuset siblings;

	tcpx_cpuset_init(&siblings);
	for (unsigned i = 0; i < core->cpu_count; i++)
		tcpx_cpuset_add(&siblings, core->cpu[i]);
	tcpx_cpuset_and(&siblings, &t->m->online);
	tcpx_cpuset_for_each(cpu, &siblings) {
		tcpx_tree_put_list(t, &siblings, CPU "/cpu%d/topology/core_cpus_list", cpu);
		tcpx_tree_put_list(t, &siblings, CPU "/cpu%d/topology/thread_siblings_list", cpu);
		if (!l3)
			continue;
		tcpx_tree_put(t, "1", CPU "/cpu%d/cache/index0/level", cpu);
		tcpx_tree_put_list(t, &siblings, CPU "/cpu%d/cache/index0/shared_cpu_list", cpu);
		tcpx_tree_put(t, "3", CPU "/cpu%d/cache/index3/level", cpu);
		tcpx_tree_put_list(t, l3, CPU "/cpu%d/cache/index3/shared_cpu_list", cpu);
	}
}

static void
write_cores(struct tree *t)
{
	const struct tcpx_machine *m = t->m;
	struct tcpx_cpuset group;
	int of = -1;

	for (unsigned i = 0; i < m->core_count && t->rc == 0; i++) {
		int l3 = m->cores[i].l3;

		if (l3 >= 0 && l3 != of) {
			tcpx_cpuset_init(&group);
			for (unsigned j = 0; j < m->core_count; j++)
				for (unsigned k = 0; m->cores[j].l3 == l3 &&
						     k < m->cores[j].cpu_count; k++)
					tcpx_cpuset_add(&group, m->cores[j].cpu[k]);
			tcpx_cpuset_and(&group, &m->online);
			of = l3;
		}
		write_core(t, &m->cores[i], l3 >= 0 ? &group : NULL);
	}
}

static void
write_cpus(struct tree *t)
{
	struct tcpx_cpuset all, offline, small, large = t->m->online;
	bool smt = false;

	tcpx_cpuset_init(&all);
	tcpx_cpuset_init(&small);
	for (unsigned i = 0; i < t->m->core_count; i++)
		for (unsigned k = 0; k < t->m->cores[i].cpu_count; k++) {
			tcpx_cpuset_add(&all, t->m->cores[i].cpu[k]);
			if (t->m->cores[i].small)
				tcpx_cpuset_add(&small, t->m->cores[i].cpu[k]);
			smt |= k > 0;
		}
	if (tcpx_cpuset_empty(&all))
		return; /* a machine that hides its CPUs */
	offline = all;
	tcpx_cpuset_andnot(&offline, &t->m->online);
	t->cpu_bits = (unsigned)tcpx_cpuset_last(&all) + 1;
	tcpx_tree_put_list(t, &all, CPU "/possible");
	tcpx_tree_put_list(t, &all, CPU "/present");
	tcpx_tree_put_list(t, &t->m->online, CPU "/online");
	tcpx_tree_put_list(t, &offline, CPU "/offline");
	tcpx_tree_put_list(t, &t->m->isolated, CPU "/isolated");
	if (!tcpx_cpuset_empty(&small)) {
		tcpx_tree_put_list(t, &small, "sys/devices/cpu_atom/cpus");
		tcpx_cpuset_andnot(&large, &small);
		tcpx_tree_put_list(t, &large, "sys/devices/cpu_core/cpus");
	}
	tcpx_tree_put(t, smt ? "1" : "0", CPU "/smt/active");
	tcpx_tree_put_mask(t, &t->m->online, "proc/irq/default_smp_affinity");
	write_cores(t);
	write_process(t);
}

static void
write_nodes(struct tree *t)
{
	const struct tcpx_machine *m = t->m;

	for (unsigned i = 0; i < m->node_count; i++) {
		const struct tcpx_machine_node *node = &m->nodes[i];
		struct tcpx_text distance = { .at = NULL };
		struct tcpx_cpuset cpus;
		char path[128];
		bool known = true;

		tcpx_machine_node_cpus(m, node->id, &cpus);
		tcpx_tree_put_list(t, &cpus, NODE "/node%d/cpulist", node->id);
		for (unsigned j = 0; j < m->node_count; j++) {
			tcpx_text_add(&distance, "%s%u", j ? " " : "", node->distance[j]);
			known &= node->distance[j] != 0;
		}
		tcpx_text_add(&distance, "\n");
		snprintf(path, sizeof(path), NODE "/node%d/distance", node->id);
		if (known)
			tcpx_tree_put_text(t, &distance, path);
		tcpx_text_drop(&distance);
	}
}

/* ---- making and removing ---------------------------------------------------------- */

static int
open_empty(const char *dir)
{
	struct dirent *entry;
	bool empty = true;
	DIR *d;
	int fd;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	d = opendir(dir);
	if (!d)
		return -errno;
	while (empty && (entry = readdir(d)) != NULL)
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	fd = empty ? dup(dirfd(d)) : -ENOTEMPTY;
	if (empty && fd < 0)
		fd = -errno;
	closedir(d);
	return fd;
}

int
tcpx_tree_write(const struct tcpx_machine *m, const char *dir)
{
	struct tree t = { .m = m, .dir = dir, .cpu_bits = 1, .list_room = TCPX_CPUS_MAX * 6 };

	t.fd = open_empty(dir);
	if (t.fd < 0)
		return tcpx_fail(TCPX_SUB_HOST, t.fd, "make a tree in %s, which must be empty or "
				 "not there", dir);
	t.list = malloc(t.list_room);
	if (t.list) {
		write_identity(&t);
		write_cpus(&t);
		write_nodes(&t);
		tcpx_tree_write_devices(&t);
		tcpx_tree_write_irqs(&t);
	} else {
		t.rc = -ENOMEM;
	}
	free(t.list);
	close(t.fd);
	return t.rc < 0 ? tcpx_fail(TCPX_SUB_HOST, t.rc, "write %s/%s", dir, t.failed) : 0;
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

int
tcpx_tree_remove(const char *dir)
{
	char mark[4096];

	snprintf(mark, sizeof(mark), "%s/%s", dir, TCPX_TREE_MARK);
	if (access(mark, F_OK) < 0)
		return tcpx_fail(TCPX_SUB_HOST, -EPERM, "remove %s: no file %s says that it is "
				 "a tree of ours", dir, TCPX_TREE_MARK);
	if (nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		return tcpx_fail_errno(TCPX_SUB_HOST, "remove the tree %s", dir);
	return 0;
}
