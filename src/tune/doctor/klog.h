/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's log, for checks. On this machine it comes from the kernel. Below another root it
 * is the file "dmesg" or var/log/dmesg, else the end of var/log/kern.log.
 */
#ifndef TUNE_DOCTOR_KLOG_H
#define TUNE_DOCTOR_KLOG_H

#include <stdbool.h>

#include "tune/info/machine.h"

#define KLOG_BYTES (4u << 20)

/* The log's last KLOG_BYTES at most: heap, the caller's; or NULL with @why (static). */
char *klog_read(const struct machine *m, const char **why);

/* Copies the next line of @text that contains @needle to @line; upper and lower case are the
 * same. Returns the text behind that line; NULL: there is no such line. */
const char *klog_next(const char *text, const char *needle, char *line, size_t cap);

/* Parses a line "NVRM: Xid (PCI:0000:04:00): 79, ...": number and device. False:
 * not such a line. */
bool klog_xid(const char *line, unsigned *xid, char *pci, size_t cap);
/* The meaning of an Xid in few words; "" for an unknown one. Static. */
const char *klog_xid_text(unsigned xid);
/* Does the Xid report memory errors? */
bool klog_xid_is_ecc(unsigned xid);

#endif
