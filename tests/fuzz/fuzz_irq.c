/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's tables of counts, snapshot files and netlink's answers. The first byte
 * chooses. A snapshot that was read writes and reads the same again.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "tune/facts/genl.h"
#include "tune/facts/vecname.h"
#include "tune/record/changes.h"
#include "tune/record/snapshot.h"

FUZZ_QUIETLY

static void
table(const char *text, size_t len)
{
	struct tcpx_irqtab tab;
	struct tcpx_vecname name;

	if (tcpx_irqtab_parse(text, len, &tab) < 0)
		return;
	promise(tab.cpu_count > 0);
	for (unsigned i = 0; i < tab.row_count; i++) {
		const struct tcpx_irq_row *row = &tab.row[i];

		promise(row->columns <= tab.cpu_count);
		promise(row->irq < 0 || tcpx_irqtab_find(&tab, row->irq) == row);
		(void)tcpx_irq_row_total(row);
		(void)tcpx_irq_row_hwirq(row);
		(void)tcpx_vecname_parse("", row->names, &name);
	}
	tcpx_irqtab_fini(&tab);
}

static void
rows(const char *text)
{
	struct tcpx_cpu_times *times;
	unsigned count;

	if (tcpx_cpu_times_parse(text, &times, &count) == 0)
		free(times);
}

static void
snapshot(const char *text, size_t len)
{
	struct tcpx_snapshot snap, again;
	struct tcpx_irqdiff diff;
	char *out;
	size_t out_len;

	if (tcpx_snapshot_parse(text, len, "fuzz", &snap) < 0)
		return;
	promise(tcpx_snapshot_format(&snap, &out, &out_len) == 0);
	promise(tcpx_snapshot_parse(out, out_len, "fuzz", &again) == 0);
	promise(again.vector_count == snap.vector_count && again.nic_count == snap.nic_count);
	promise(tcpx_irqdiff_make(&snap, &again, &diff) == 0);
	for (unsigned i = 0; i < diff.row_count; i++)
		promise(diff.row[i].total == 0 && diff.row[i].state == TCPX_IRQ_SAME);
	tcpx_irqdiff_fini(&diff);
	tcpx_snapshot_fini(&again);
	tcpx_snapshot_fini(&snap);
	free(out);
}

static void
walk(void *arg, struct tcpx_nlattrs attrs)
{
	uint64_t v;

	while (tcpx_nlattr_next(&attrs)) {
		struct tcpx_nlattrs in = tcpx_nlattr_inside(&attrs);

		(void)tcpx_nlattr_number(&attrs, &v);
		while (tcpx_nlattr_next(&in))
			(void)tcpx_nlattr_is(&in, "rx-gro");
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text;

	if (len == 0 || !(text = malloc(len)))
		return 0;
	memcpy(text, data + 1, len - 1);
	text[len - 1] = '\0';
	switch (data[0] % 4) {
	case 0:
		table(text, len - 1);
		break;
	case 1:
		rows(text);
		break;
	case 2:
		snapshot(text, len - 1);
		break;
	default:
		(void)!tcpx_genl_parse(text, len - 1, 0, walk, NULL);
		break;
	}
	free(text);
	return 0;
}
