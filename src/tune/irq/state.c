/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of one IRQ or queue. Lists are written rather than masks: the kernel refuses a
 * list with an unknown CPU as a whole, but narrows such a mask.
 */
#include "tune/irq/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"

enum { PATH = 160, FIRST_WAIT_MS = 1 };

static void
mask_path(const struct tcpx_aff_item *item, char path[PATH])
{
	if (item->kind == TCPX_AFF_XPS)
		snprintf(path, PATH, "sys/class/net/%s/queues/tx-%u/xps_cpus", item->name,
			 item->number);
	else
		snprintf(path, PATH, "proc/irq/%u/smp_affinity_list", item->number);
}

static int
read_set(struct tcpx_files *f, const char *path, bool hex, struct tcpx_cpuset *set)
{
	char *text = malloc(TCPX_FILES_LONGEST);
	int rc;

	if (!text)
		return -ENOMEM;
	rc = f->ops->read(f, path, text, TCPX_FILES_LONGEST);
	if (rc == 0) {
		tcpx_cpuset_init(set);
	} else if (rc > 0) {
		rc = hex ? tcpx_cpuset_parse_mask(text, set) : tcpx_cpuset_parse(text, set);
	}
	free(text);
	return rc;
}

int
tcpx_irqstate_list(struct tcpx_files *f, const char *path, struct tcpx_cpuset *set)
{
	return read_set(f, path, false, set);
}

/* The actions of an IRQ; without /sys, the directory that /proc names after the first. ""
 * without either. */
static void
read_name(struct tcpx_files *f, unsigned irq, char *name, size_t cap)
{
	char path[PATH], *names, *at;

	snprintf(path, sizeof(path), "sys/kernel/irq/%u/actions", irq);
	if (f->ops->read(f, path, name, cap) >= 0)
		return;
	*name = '\0';
	names = malloc(TCPX_FILES_LONGEST);
	if (!names)
		return;
	snprintf(path, sizeof(path), "proc/irq/%u", irq);
	if (f->ops->list(f, path, names, TCPX_FILES_LONGEST) >= 0) {
		for (at = names; *at; at += strlen(at) + 1)
			if (!strstr(at, "affinity") && strcmp(at, "node") && strcmp(at, "spurious") &&
			    tcpx_io_join(name, cap, "%s", at))
				break;
	}
	free(names);
}

static int64_t
read_hwirq(struct tcpx_files *f, unsigned irq)
{
	char path[PATH], text[32], *end;
	long long v;

	snprintf(path, sizeof(path), "sys/kernel/irq/%u/hwirq", irq);
	if (f->ops->read(f, path, text, sizeof(text)) <= 0)
		return -1;
	v = strtoll(text, &end, 10);
	return *end || v < 0 ? -1 : v;
}

int
tcpx_irqstate_read(struct tcpx_files *f, const struct tcpx_aff_item *item,
		   struct tcpx_irqstate *out)
{
	bool xps = item->kind == TCPX_AFF_XPS;
	char path[PATH];
	unsigned mode;
	int rc;

	memset(out, 0, sizeof(*out));
	out->hwirq = -1;
	mask_path(item, path);
	rc = f->ops->look(f, path, &mode, &out->writing);
	if (rc >= 0)
		rc = read_set(f, path, xps, &out->mask);
	/* A device with one queue lists the file, which does not exist. */
	if (rc == -ENOENT || rc == -ENOTDIR)
		return 0;
	if (rc < 0)
		return rc;
	out->exists = true;
	out->managed = !(mode & 0222);
	if (xps) {
		memcpy(out->name, item->name, sizeof(out->name));
		return 0;
	}
	read_name(f, item->number, out->name, sizeof(out->name));
	out->hwirq = read_hwirq(f, item->number);
	snprintf(path, sizeof(path), "proc/irq/%u/effective_affinity_list", item->number);
	if (read_set(f, path, false, &out->eff) < 0)
		tcpx_cpuset_init(&out->eff);
	return 0;
}

/* Actions of a shared IRQ are separated by "," here and ", " there. */
static bool
same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		if (*a != *b)
			return false;
		if (*a == ',') {
			a += strspn(a + 1, " ");
			b += strspn(b + 1, " ");
		}
	}
	return *a == *b;
}

bool
tcpx_irqstate_same(const struct tcpx_irqstate *state, const struct tcpx_aff_item *item)
{
	if (item->kind == TCPX_AFF_XPS)
		return true;
	if (*item->name && !same_name(item->name, state->name))
		return false;
	return item->hwirq < 0 || state->hwirq < 0 || item->hwirq == state->hwirq;
}

unsigned
tcpx_irqstate_find(struct tcpx_files *f, const char *name)
{
	char *names = malloc(TCPX_FILES_LONGEST * 4), found[TCPX_AFF_NAME];
	unsigned irq = 0;

	if (!names)
		return 0;
	if (!*name || f->ops->list(f, "proc/irq", names, TCPX_FILES_LONGEST * 4) < 0)
		*names = names[1] = '\0';
	for (char *at = names; *at; at += strlen(at) + 1) {
		char *end;
		unsigned long n = strtoul(at, &end, 10);

		if (*end || n == 0 || n > 1u << 30)
			continue;
		read_name(f, (unsigned)n, found, sizeof(found));
		if (!same_name(found, name))
			continue;
		if (irq) {
			irq = 0;
			break;
		}
		irq = (unsigned)n;
	}
	free(names);
	return irq;
}

int
tcpx_irqstate_write(struct tcpx_files *f, const struct tcpx_aff_item *item,
		    const struct tcpx_cpuset *mask)
{
	char path[PATH], *text = malloc(TCPX_FILES_LONGEST);
	unsigned wait = FIRST_WAIT_MS;
	int rc;

	if (!text)
		return -ENOMEM;
	mask_path(item, path);
	if (item->kind == TCPX_AFF_XPS)
		tcpx_cpuset_format_mask(mask, text, TCPX_FILES_LONGEST);
	else
		tcpx_cpuset_format(mask, text, TCPX_FILES_LONGEST);
	for (int i = 1;; i++, wait *= 2) {
		rc = f->ops->write(f, path, text);
		if ((rc != -EAGAIN && rc != -EBUSY) || i >= TCPX_AFF_TRIES)
			break;
		f->ops->wait_ms(f, wait);
	}
	free(text);
	return rc;
}

int
tcpx_irqstate_count(struct tcpx_files *f, unsigned irq, const struct tcpx_cpuset *cpus,
		    uint64_t *on, uint64_t *off)
{
	size_t room = (size_t)TCPX_CPUS_MAX * 12;
	char path[PATH], *text = malloc(room), *at, *end;
	int rc;

	if (!text)
		return -ENOMEM;
	snprintf(path, sizeof(path), "sys/kernel/irq/%u/per_cpu_count", irq);
	rc = f->ops->read(f, path, text, room);
	if (rc <= 0) {
		free(text);
		return rc < 0 ? rc : -ENOENT;
	}
	*on = *off = 0;
	at = text;
	for (int cpu = 0; rc >= 0; cpu++) {
		uint64_t n = strtoull(at, &end, 10);

		if (end == at || (*end && *end != ',')) {
			rc = -EINVAL;
			break;
		}
		*(tcpx_cpuset_has(cpus, cpu) ? on : off) += n;
		if (!*end)
			break;
		at = end + 1;
	}
	free(text);
	return rc < 0 ? rc : 0;
}
