/* SPDX-License-Identifier: Apache-2.0 */
/* Files and links of a tree that is being written. The first failure stays; what follows it
 * does nothing. */
#ifndef HOST_TREE_FILE_H
#define HOST_TREE_FILE_H

#include "base/cpuset.h"
#include "base/text.h"
#include "host/tree.h"

struct tree {
	const struct tcpx_machine *m;
	const char *dir;
	int fd;              /* of @dir                                        */
	int rc;
	char failed[512];    /* where                                          */
	unsigned cpu_bits;   /* CPUs that a mask of this machine's kernel has  */
	char *list;          /* room for a list or mask of CPUs                */
	size_t list_room;
};

/* "sys/..." and its content, to which a newline is added; parents are made. */
void tcpx_tree_put(struct tree *t, const char *text, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
void tcpx_tree_put_number(struct tree *t, long long v, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
void tcpx_tree_put_list(struct tree *t, const struct tcpx_cpuset *set, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* As the kernel prints masks: all groups, the first as wide as it needs. */
void tcpx_tree_put_mask(struct tree *t, const struct tcpx_cpuset *set, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* The whole text as it is; takes and drops it. */
void tcpx_tree_put_text(struct tree *t, struct tcpx_text *text, const char *path);
void tcpx_tree_mode(struct tree *t, unsigned mode, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* A link at @path to @to, both below the root, made relative as sysfs has it. */
void tcpx_tree_link(struct tree *t, const char *path, const char *to);

/* The CPU that an IRQ fires on: vectors of a NIC go around the CPUs of its node. */
int tcpx_tree_irq_cpu(const struct tree *t, const struct tcpx_machine_vector *v);

/* Parts of a tree. */
void tcpx_tree_write_devices(struct tree *t);
void tcpx_tree_write_irqs(struct tree *t);

#endif
