/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's log. Below another root it is the file "dmesg" or var/log/dmesg, else the end of
 * var/log/kern.log.
 */
#ifndef TOOL_KLOG_H
#define TOOL_KLOG_H

#include <stdbool.h>

#include "tool/info/machine.h"

#define KLOG_BYTES (4u << 20)

/* Heap, the caller's; or NULL with @why (static). */
char *klog_read(const struct machine *m, const char **why);

/* The next line of @text that has @needle in it, in any case, copied to @line; text behind
 * it, or NULL: there is none. */
const char *klog_next(const char *text, const char *needle, char *line, size_t cap);

/* An Xid of a line "NVRM: Xid (PCI:0000:04:00): 79, ...": its number, and where; false: none. */
bool klog_xid(const char *line, unsigned *xid, char *pci, size_t cap);
/* What an Xid means, in few words; "" for one that is not known. Static. */
const char *klog_xid_text(unsigned xid);
/* The Xid tells of memory errors. */
bool klog_xid_is_ecc(unsigned xid);

#endif
