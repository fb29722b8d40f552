/* SPDX-License-Identifier: Apache-2.0 */
/* The interrupt vectors of a NIC: those that its PCI device lists, if the kernel has them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "host/io.h"
#include "tune/facts/queues.h"
#include "tune/facts/vecname.h"

#define VECTORS 4096 /* of one device; the limit of MSI-X is 2048 */

/* ---- which ------------------------------------------------------------------------ */

static bool
kernel_has(const char *root, uint64_t irq)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/irq/%llu", (unsigned long long)irq);
	return tcpx_io_is_dir(root, path);
}

static int
compare_numbers(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The number of vectors in @irq, which has room for VECTORS; or -errno of
 * the device's list. */
static int
list_msi(const char *root, const char *pci, uint32_t *irq)
{
	struct tcpx_io_names names;
	char path[128];
	uint64_t v;
	int n = 0, rc;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/msi_irqs", pci);
	rc = tcpx_io_list(root, path, &names);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < names.count && n < VECTORS; i++)
		if (tcpx_parse_count(names.entry[i]->d_name, &v) == 0 && v <= INT32_MAX &&
		    kernel_has(root, v))
			irq[n++] = (uint32_t)v;
	tcpx_io_names_free(&names);
	qsort(irq, (size_t)n, sizeof(*irq), compare_numbers);
	return n;
}

/* An old device has one wired interrupt. */
static int
list_wired(const char *root, const char *pci, uint32_t *irq)
{
	char path[128];
	long long v;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/irq", pci);
	if (tcpx_io_read_number(root, path, &v) < 0 || v <= 0 || v > INT32_MAX ||
	    !kernel_has(root, (uint64_t)v))
		return 0;
	irq[0] = (uint32_t)v;
	return 1;
}

/* ---- facts of one ----------------------------------------------------------------- */

static void
read_owner_file(const char *root, uint32_t irq, const char *file, char *buf, size_t cap)
{
	char path[64], text[1024];

	buf[0] = '\0';
	snprintf(path, sizeof(path), "/sys/kernel/irq/%u/%s", irq, file);
	if (tcpx_io_read(root, path, text, sizeof(text)) > 0)
		snprintf(buf, cap, "%.*s", (int)(cap - 1), text);
}

/* Name, chip and number are in one table, but not those of an IRQ without an owner. */
static void
read_owner(const char *root, const struct tcpx_irqtab *tab, struct tcpx_machine_vector *v)
{
	const struct tcpx_irq_row *row = tab ? tcpx_irqtab_find(tab, (long)v->irq) : NULL;
	char number[32];
	uint64_t hwirq;

	v->hwirq = -1;
	if (row) {
		v->hwirq = tcpx_irq_row_hwirq(row);
		snprintf(v->chip, sizeof(v->chip), "%s", row->chip);
		snprintf(v->name, sizeof(v->name), "%s", row->names);
		return;
	}
	read_owner_file(root, v->irq, "actions", v->name, sizeof(v->name));
	read_owner_file(root, v->irq, "chip_name", v->chip, sizeof(v->chip));
	read_owner_file(root, v->irq, "hwirq", number, sizeof(number));
	if (tcpx_parse_count(number, &hwirq) == 0 && hwirq <= INT64_MAX)
		v->hwirq = (int64_t)hwirq;
}

static void
read_vector(const char *root, const struct tcpx_irqtab *tab, struct tcpx_nic_vector *out)
{
	char path[64];
	unsigned mode = 0;

	out->v.queue = -1;
	out->v.source = TCPX_VECTOR_NOT;
	read_owner(root, tab, &out->v);
	snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list", out->v.irq);
	tcpx_maybe_list(root, path, &out->requested);
	/* managed vectors are not writable */
	out->v.movable = tcpx_io_mode(root, path, &mode) < 0 || (mode & 0222) != 0;
	snprintf(path, sizeof(path), "/proc/irq/%u/effective_affinity_list", out->v.irq);
	tcpx_maybe_list(root, path, &out->effective);
	snprintf(path, sizeof(path), "/proc/irq/%u/affinity_hint", out->v.irq);
	tcpx_maybe_mask(root, path, &out->hint);
	snprintf(path, sizeof(path), "/proc/irq/%u/node", out->v.irq);
	out->node = tcpx_maybe_number(root, path);
	if (!out->node.why && out->node.value < 0)
		out->node = tcpx_maybe_not("the kernel says -1");
}

/* Copies the kernel's answers about queues to the vectors. */
static void
take_said(const struct tcpx_nic_queue *queues, unsigned count, struct tcpx_machine_vector *v)
{
	for (unsigned i = 0; i < count; i++) {
		const struct tcpx_nic_queue *q = &queues[i];

		if (q->irq.why || (uint64_t)q->irq.value != v->irq)
			continue;
		/* RX queues come first: a vector with both gets RX's number */
		if (v->source == TCPX_VECTOR_NETDEV) {
			if (q->tx && v->kind == TCPX_VECTOR_RX)
				v->kind = TCPX_VECTOR_TXRX;
			continue;
		}
		v->source = TCPX_VECTOR_NETDEV;
		v->kind = q->tx ? TCPX_VECTOR_TX : TCPX_VECTOR_RX;
		v->queue = (int)q->index;
	}
}

/* ---- several interfaces on one device --------------------------------------------- */

/* Is "eth1-TxRx-0" another interface's? Not eth0's, if eth1 is on the same device. */
static bool
of_another(const struct tcpx_io_names *interfaces, const char *ifname, const char *vector)
{
	for (unsigned i = 0; i < interfaces->count; i++) {
		const char *other = interfaces->entry[i]->d_name;
		size_t len = strlen(other);

		if (strcmp(other, ifname) != 0 && !strncmp(vector, other, len) &&
		    vector[len] == '-')
			return true;
	}
	return false;
}

static unsigned
drop_others(const char *root, const struct tcpx_host_nic *nic, struct tcpx_nic_vector *all,
	    unsigned count)
{
	struct tcpx_io_names interfaces;
	char path[128];
	unsigned kept = 0;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/net", nic->place.pci);
	if (tcpx_io_list(root, path, &interfaces) < 0)
		return count;
	for (unsigned i = 0; i < count; i++)
		if (interfaces.count < 2 || !of_another(&interfaces, nic->ifname, all[i].v.name))
			all[kept++] = all[i];
	tcpx_io_names_free(&interfaces);
	return kept;
}

int
tcpx_vectors_read(const char *root, const struct tcpx_host_nic *nic,
		  const struct tcpx_irqtab *tab, const struct tcpx_nic_queue *queues,
		  unsigned queue_count, struct tcpx_nic_vector **out, unsigned *count,
		  const char **why)
{
	struct tcpx_nic_vector *all;
	uint32_t irq[VECTORS];
	int n;

	*out = NULL;
	*count = 0;
	*why = nic->hardware ? "its device is not on a PCI bus" : "no device stands behind it";
	if (!*nic->place.pci)
		return 0;
	n = list_msi(root, nic->place.pci, irq);
	if (n <= 0)
		n = list_wired(root, nic->place.pci, irq);
	*why = n == 0 ? "its device lists no interrupts" : NULL;
	if (n == 0)
		return 0;
	all = calloc((size_t)n, sizeof(*all));
	if (!all)
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "facts of %d vectors of %s", n,
				 nic->ifname);
	for (int i = 0; i < n; i++) {
		all[i].v.irq = irq[i];
		read_vector(root, tab, &all[i]);
		take_said(queues, queue_count, &all[i].v);
	}
	*out = all;
	*count = drop_others(root, nic, all, (unsigned)n);
	tcpx_vectors_map(nic->driver, all, *count);
	return 0;
}
