/* SPDX-License-Identifier: Apache-2.0 */
/* Files and links of a tree while it is written. The first failure stays; later
 * calls do nothing. */
#ifndef MACHINE_TREE_FILE_H
#define MACHINE_TREE_FILE_H

#include "base/cpuset.h"
#include "base/text.h"
#include "machine/tree.h"

struct tree {
	const struct tcpx_machine *m;
	const char *dir;
	int fd;              /* of @dir                                        */
	int rc;
	char failed[512];    /* the failed path                                */
	unsigned cpu_bits;   /* CPUs in a mask of this machine's kernel        */
	char *list;          /* room for a list or mask of CPUs                */
	size_t list_room;
};

/* "sys/..." and its content, with a newline added; parents are made. */
void tcpx_tree_put(struct tree *t, const char *text, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
void tcpx_tree_put_number(struct tree *t, long long v, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
void tcpx_tree_put_list(struct tree *t, const struct tcpx_cpuset *set, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* As the kernel prints masks: all groups, the first as wide as it needs. */
void tcpx_tree_put_mask(struct tree *t, const struct tcpx_cpuset *set, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes the whole text unchanged; frees it. */
void tcpx_tree_put_text(struct tree *t, struct tcpx_text *text, const char *path);
void tcpx_tree_mode(struct tree *t, unsigned mode, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* A link at @path to @to, both below the root, made relative as in sysfs. */
void tcpx_tree_link(struct tree *t, const char *path, const char *to);

/* The CPU of an IRQ: vectors of a NIC go around the CPUs of its node. */
int tcpx_tree_irq_cpu(const struct tree *t, const struct tcpx_machine_vector *v);

/* Parts of a tree. */
void tcpx_tree_write_devices(struct tree *t);
void tcpx_tree_write_irqs(struct tree *t);

#endif
