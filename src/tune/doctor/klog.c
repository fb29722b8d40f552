/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the kernel's log, and has the table of the GPU driver's Xid numbers. */
#include "tune/doctor/klog.h"
#include "tune/facts/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>

#define READ_ALL 3

static const struct {
	unsigned xid;
	bool ecc;
	const char *text;
} xids[] = {
	{ 13, false, "a program's kernel failed" },
	{ 31, false, "a program used memory that is not its own" },
	{ 43, false, "a program's work was stopped" },
	{ 45, false, "a program's work was taken down" },
	{ 48, true, "uncorrectable memory error" },
	{ 63, true, "a memory page or row was retired" },
	{ 64, true, "a memory page or row could not be retired" },
	{ 74, false, "NVLink error" },
	{ 79, false, "the GPU has fallen off the bus" },
	{ 92, true, "many corrected memory errors" },
	{ 94, true, "memory error, contained" },
	{ 95, true, "memory error, not contained" },
	{ 119, false, "the GPU's own processor does not answer" },
	{ 120, false, "the GPU's own processor failed" },
};

char *
klog_read(const struct machine *m, const char **why)
{
	static const char *const files[] = { "/dmesg", "/var/log/dmesg", "/var/log/kern.log" };
	char *text = malloc(KLOG_BYTES);
	int n = -ENOENT;

	*why = "no memory";
	if (!text)
		return NULL;
	if (m->here) {
		n = klogctl(READ_ALL, text, (int)KLOG_BYTES - 1);
		if (n >= 0) {
			text[n] = '\0';
			return text;
		}
		*why = errno == EPERM ? "only root may read the kernel's log (kernel.dmesg_restrict)" :
					"the kernel's log cannot be read";
	} else {
		*why = "no file dmesg, var/log/dmesg or var/log/kern.log";
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && n < 0; i++)
			n = tcpx_host_tail_read(m->root, files[i], text, KLOG_BYTES);
		if (n >= 0)
			return text;
	}
	free(text);
	return NULL;
}

const char *
klog_next(const char *text, const char *needle, char *line, size_t cap)
{
	const char *at = strcasestr(text, needle);
	size_t len;

	if (!at)
		return NULL;
	while (at > text && at[-1] != '\n')
		at--;
	len = strcspn(at, "\n");
	snprintf(line, cap, "%.*s", (int)len, at);
	return at + len;
}

bool
klog_xid(const char *line, unsigned *xid, char *pci, size_t cap)
{
	const char *at = strstr(line, "Xid (");
	char where[32];

	if (!at || sscanf(at, "Xid (PCI:%31[0-9a-fA-F:.]): %u", where, xid) != 2)
		return false;
	snprintf(pci, cap, "%s", where);
	return true;
}

const char *
klog_xid_text(unsigned xid)
{
	for (size_t i = 0; i < sizeof(xids) / sizeof(xids[0]); i++)
		if (xids[i].xid == xid)
			return xids[i].text;
	return "";
}

bool
klog_xid_is_ecc(unsigned xid)
{
	for (size_t i = 0; i < sizeof(xids) / sizeof(xids[0]); i++)
		if (xids[i].xid == xid)
			return xids[i].ecc;
	return false;
}
