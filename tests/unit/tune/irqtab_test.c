/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/interrupts as kernels write it, and malformed. */
#include "../base/base_test.h"

#include <errno.h>

#include "tune/facts/irqtab.h"

static struct tcpx_irqtab tab;

static int
parse(const char *text)
{
	return tcpx_irqtab_parse(text, strlen(text), &tab);
}

static int
forget(void **state)
{
	tcpx_irqtab_fini(&tab);
	return 0;
}

static const char plain[] =
	"           CPU0       CPU1       CPU4       \n"
	"  1:          9          0          0 IO-APIC   1-edge      i8042\n"
	" 38:          0 4294967295          7 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n"
	"120:          1          2          3 PCI-MSI 65536-edge      nvme0q0, nvme0 q1\n"
	"NMI:          0          1          2   Non-maskable interrupts\n"
	"LOC:       3001       3002       3003   Local timer interrupts\n"
	"ERR:          5\n"
	"MIS:          0\n";

TEST_WITH(a_plain_table_is_read, NULL, forget)
{
	const struct tcpx_irq_row *row;

	assert_int_equal(parse(plain), 0);
	assert_int_equal(tab.cpu_count, 3);
	assert_int_equal(tab.cpu[2], 4);
	assert_int_equal(tab.row_count, 7);
	assert_int_equal(tab.left_out, 0);
	row = tcpx_irqtab_find(&tab, 38);
	assert_non_null(row);
	check_text("chip", row->chip, "PCI-MSIX-0000:00:03.0");
	check_text("hwirq", row->hwirq, "1-edge");
	check_text("names", row->names, "virtio2-input.0");
	check("38", "hwirq", tcpx_irq_row_hwirq(row), 1);
	check("38", "count", row->count[1], UINT32_MAX);
	check("38", "total", tcpx_irq_row_total(row), (uint64_t)UINT32_MAX + 7);
	check_text("shared", tcpx_irqtab_find(&tab, 120)->names, "nvme0q0, nvme0 q1");
	assert_null(tcpx_irqtab_find(&tab, 2));
	assert_null(tcpx_irqtab_find(&tab, -1));
	row = tcpx_irqtab_label(&tab, "LOC");
	check_text("LOC", row->names, "Local timer interrupts");
	check("LOC", "irq", row->irq, -1);
	check("ERR", "columns", tcpx_irqtab_label(&tab, "ERR")->columns, 1);
	check("ERR", "total", tcpx_irq_row_total(tcpx_irqtab_label(&tab, "ERR")), 5);
}

TEST(what_stands_behind_the_counts_differs_by_machine)
{
	static const struct {
		const char *tail, *chip, *hwirq, *names;
	} rows[] = {
		{ "PCI-MSIX-0000:06:00.0  33-edge  gve-ntfy-blk0@pci:0000:06:00.0",
		  "PCI-MSIX-0000:06:00.0", "33-edge", "gve-ntfy-blk0@pci:0000:06:00.0" },
		{ "GICv3  27 Level     arch_timer", "GICv3", "27", "arch_timer" },
		{ "GICv3  27 Edge      a b", "GICv3", "27", "a b" },
		{ "XT-PIC      cascade", "XT-PIC", "", "cascade" },
		{ "IO-APIC   8-edge      rtc0", "IO-APIC", "8-edge", "rtc0" },
		{ "dummy  44-edge", "dummy", "44-edge", "" },
		{ "dummy", "dummy", "", "" },
		{ "", "", "", "" },
		{ "PCI-MSI 5-edge  \xff\xfe, x;y: z", "PCI-MSI", "5-edge", "\xff\xfe, x;y: z" },
		{ "none 8250-1 uart", "none", "", "8250-1 uart" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[256];

		snprintf(text, sizeof(text), " CPU0 CPU1\n 5: 1 2 %s  \n", rows[i].tail);
		assert_int_equal(parse(text), 0);
		check(rows[i].tail, "rows", tab.row_count, 1);
		check_text(rows[i].tail, tab.row[0].chip, rows[i].chip);
		check_text(rows[i].tail, tab.row[0].hwirq, rows[i].hwirq);
		check_text(rows[i].tail, tab.row[0].names, rows[i].names);
		tcpx_irqtab_fini(&tab);
	}
}

TEST_WITH(rows_that_make_no_sense_are_left_out, NULL, forget)
{
	static const struct {
		const char *name, *row;
		unsigned rows, left_out;
	} rows[] = {
		{ "good", " 5: 1 2 X 1-edge a\n", 1, 0 },
		{ "fewer counts", " 5: 1 X 1-edge a\n", 0, 1 },
		{ "no counts", " 5: X 1-edge a\n", 0, 1 },
		{ "more counts", " 5: 1 2 3 X 1-edge a\n", 0, 1 },
		{ "fewer of the architecture", "NMI: 1 2\nNMX: X\n", 1, 1 },
		{ "too large", " 5: 1 4294967296 X 1-edge a\n", 0, 1 },
		{ "negative", " 5: 1 -2 X 1-edge a\n", 0, 1 },
		{ "hexadecimal", " 5: 1 0x2 X 1-edge a\n", 0, 1 },
		{ "no colon", " 5 1 2 X 1-edge a\n", 0, 1 },
		{ "no label", " : 1 2 X 1-edge a\n", 0, 1 },
		{ "label of two words", " 5 6: 1 2 X 1-edge a\n", 0, 1 },
		{ "label half a number", "5a: 1 2 X 1-edge a\n", 0, 1 },
		{ "label too large", "99999999999: 1 2 X 1-edge a\n", 0, 1 },
		{ "empty line", "\n", 0, 1 },
		{ "twice", " 5: 1 2 X 1-edge a\n 5: 3 4 X 1-edge b\n", 1, 1 },
		{ "a name twice", "NMI: 1 2\nLOC: 1 2\nNMI: 1 2\n", 2, 1 },
		{ "cut in a count", " 5: 1 2 X 1-edge a\n 6: 1 2", 1, 1 },
		{ "cut in a name", " 5: 1 2 X 1-edge a\n 6: 1 2 X 1-edge virt", 1, 1 },
		{ "none", "", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[256];

		snprintf(text, sizeof(text), " CPU0 CPU1\n%s", rows[i].row);
		check(rows[i].name, "rc", parse(text), 0);
		check(rows[i].name, "rows", tab.row_count, rows[i].rows);
		check(rows[i].name, "left out", tab.left_out, rows[i].left_out);
		tcpx_irqtab_fini(&tab);
	}
	assert_int_equal(parse(" CPU0 CPU1\n 5: 1 2 X 1-edge a\n 5: 3 4 X 1-edge b\n"), 0);
	check_text("the first counts", tab.row[0].names, "a");
}

TEST(tables_without_a_header_are_refused)
{
	static const char *const texts[] = {
		"", "\n", "CPU0", "  \n 5: 1 2\n", "CPU\n", "CPUx\n", "CPU0 CPU0\n", "CPU1 CPU0\n",
		"CPU0 CPU99999999999\n", "CPU0 8192\n", "CPU8192\n", " 5: 1 2 X 1-edge a\n",
		"CPU-1\n", "CPU0,CPU1\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		check(texts[i], "rc", parse(texts[i]), -EINVAL);
}

TEST_WITH(nul_bytes_end_a_line_only, NULL, forget)
{
	static const char text[] = " CPU0\n 5: 1 X\0 1-edge a\n 6: 2 X 1-edge b\n";

	assert_int_equal(tcpx_irqtab_parse(text, sizeof(text) - 1, &tab), 0);
	assert_int_equal(tab.row_count, 2);
	check_text("6", tcpx_irqtab_find(&tab, 6)->names, "b");
}

TEST_WITH(rows_are_found_by_number_in_any_order, NULL, forget)
{
	assert_int_equal(parse(" CPU0\nNMI: 4\n 300: 3 X 1-edge c\n 7: 1 X 1-edge a\n"
			       " 20: 2 X 1-edge b\n"), 0);
	check("7", "count", tcpx_irqtab_find(&tab, 7)->count[0], 1);
	check("20", "count", tcpx_irqtab_find(&tab, 20)->count[0], 2);
	check("300", "count", tcpx_irqtab_find(&tab, 300)->count[0], 3);
	check_text("last", tab.row[3].label, "NMI");
}

TEST_WITH(thousands_of_cpus_fit, NULL, forget)
{
	enum { CPUS = 4096, ROWS = 20 };
	size_t cap = (size_t)CPUS * 12 * (ROWS + 1) + 4096, at = 0;
	char *text = malloc(cap);

	assert_non_null(text);
	for (int cpu = 0; cpu < CPUS; cpu++)
		at += (size_t)snprintf(text + at, cap - at, " CPU%d", cpu * 2);
	for (int row = 0; row < ROWS; row++) {
		at += (size_t)snprintf(text + at, cap - at, "\n %d:", row);
		for (int cpu = 0; cpu < CPUS; cpu++)
			at += (size_t)snprintf(text + at, cap - at, " %d", row + cpu);
		at += (size_t)snprintf(text + at, cap - at, " chip %d-edge name%d", row, row);
	}
	text[at++] = '\n';
	assert_int_equal(tcpx_irqtab_parse(text, at, &tab), 0);
	assert_int_equal(tab.cpu_count, CPUS);
	assert_int_equal(tab.cpu[CPUS - 1], 2 * CPUS - 2);
	assert_int_equal(tab.row_count, ROWS);
	assert_int_equal(tcpx_irqtab_find(&tab, 19)->count[CPUS - 1], 19 + CPUS - 1);
	free(text);
}

/* Wherever a table is cut, what is read is a part of the whole one. */
TEST(a_cut_table_never_lies)
{
	struct tcpx_irqtab whole;

	assert_int_equal(tcpx_irqtab_parse(plain, strlen(plain), &whole), 0);
	for (size_t len = 0; len < strlen(plain); len++) {
		if (tcpx_irqtab_parse(plain, len, &tab) < 0)
			continue;
		for (unsigned i = 0; i < tab.row_count; i++) {
			const struct tcpx_irq_row *row = &tab.row[i], *same;

			same = tcpx_irqtab_label(&whole, row->label);
			assert_non_null(same);
			check_text(row->label, row->names, same->names);
			check(row->label, "columns", row->columns, same->columns);
			check(row->label, "total", tcpx_irq_row_total(row),
			      tcpx_irq_row_total(same));
		}
		tcpx_irqtab_fini(&tab);
	}
	tcpx_irqtab_fini(&whole);
}
