/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx irq verify --watch judges by all its looks, which the test makes up. */
#include "cases.h"

#include <string.h>

#include "../stdout_of.h"
#include "tool/tool.h"
#include "tune/plan/irq.h"
#include "tune/plan/irq_table.h"
#include "tune/plan/reader.h"

enum { ITEMS = 2, LOOKS = 3 };

#define EFF TCPX_AFF_EFFECTIVE
#define PEND TCPX_AFF_PENDING
#define ASKED TCPX_AFF_REQUESTED
#define AUTO TCPX_AFF_MANAGED
#define DRIFT TCPX_AFF_DRIFTED
#define OFF TCPX_AFF_OFF_PLAN
#define GONE TCPX_AFF_GONE

static const struct watched {
	enum tcpx_aff_state look[LOOKS][ITEMS];
	bool strict, good;
	const char *change; /* printed; NULL: none is */
} rows[] = {
	{ { { EFF, EFF }, { EFF, EFF }, { EFF, EFF } }, false, true, NULL },
	{ { { DRIFT, EFF }, { EFF, EFF }, { EFF, EFF } }, false, false,
	  "drifted -> effective" },
	{ { { EFF, EFF }, { EFF, OFF }, { EFF, EFF } }, false, false, "off-plan -> effective" },
	{ { { EFF, EFF }, { EFF, EFF }, { GONE, EFF } }, false, false, "effective -> gone" },
	{ { { OFF, EFF }, { OFF, EFF }, { OFF, EFF } }, false, false, "untouched -> off-plan" },
	{ { { PEND, AUTO }, { PEND, AUTO }, { ASKED, AUTO } }, false, true,
	  "pending -> requested" },
	{ { { PEND, EFF }, { EFF, EFF }, { EFF, EFF } }, true, false, "pending -> effective" },
	{ { { ASKED, EFF }, { EFF, EFF }, { EFF, EFF } }, true, true,
	  "requested -> effective" },
	{ { { EFF, AUTO }, { EFF, AUTO }, { EFF, AUTO } }, true, false,
	  "untouched -> skipped-managed" },
};

static struct {
	const struct watched *row;
	unsigned looks;
} now;

/* In place of a plan and of a machine; a signal ends the watch after the last look. */
int __wrap_planfile_open(const char *command, const char *path, struct planfile *plan);
int __wrap_planfile_fits(const char *command, const char *path, const struct planfile *plan,
			 const char *root, bool boots);
int __wrap_tcpx_aff_verify(struct tcpx_files *f, struct tcpx_aff_item *items, unsigned count,
			   const struct tcpx_aff_opts *opts, bool *good);
void __wrap_irq_table_catch_signals(void);
bool __wrap_irq_table_stopped(void *arg);

int
__wrap_planfile_open(const char *command, const char *path, struct planfile *plan)
{
	(void)command, (void)path;
	*plan = (struct planfile){ .items = calloc(ITEMS, sizeof(*plan->items)),
				   .irq_count = ITEMS };
	assert_non_null(plan->items);
	return TOOL_OK;
}

int
__wrap_planfile_fits(const char *command, const char *path, const struct planfile *plan,
		     const char *root, bool boots)
{
	(void)command, (void)path, (void)plan, (void)root, (void)boots;
	return TOOL_OK;
}

int
__wrap_tcpx_aff_verify(struct tcpx_files *f, struct tcpx_aff_item *items, unsigned count,
		       const struct tcpx_aff_opts *opts, bool *good)
{
	(void)f, (void)opts;
	assert_in_range(now.looks, 0, LOOKS - 1);
	*good = true;
	for (unsigned i = 0; i < count; i++) {
		items[i].state = now.row->look[now.looks][i];
		*good &= items[i].state != DRIFT && items[i].state != OFF &&
			 items[i].state != GONE;
	}
	now.looks++;
	return 0;
}

void
__wrap_irq_table_catch_signals(void)
{
}

bool
__wrap_irq_table_stopped(void *arg)
{
	(void)arg;
	return now.looks == LOOKS;
}

TEST(a_watch_is_judged_by_all_its_looks)
{
	char verb[] = "verify", plan[] = "p.json", watch[] = "--watch", strict[] = "--strict";
	char *words[] = { verb, plan, watch, strict, NULL };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct watched *row = &rows[i];
		char *text;
		int code;

		now.row = row;
		now.looks = 0;
		text = stdout_of(irq_verify, row->strict ? 4 : 3, words, &code);
		if (now.looks != LOOKS || code != (row->good ? TOOL_OK : TOOL_FINDING) ||
		    !strstr(text, row->good ? "\nas planned: " : "\nnot as planned: ") ||
		    (row->change ? !strstr(text, row->change) : strstr(text, "->") != NULL))
			fail_msg("row %zu: %u looks, code %d, printed:\n%s", i, now.looks, code,
				 text);
		free(text);
	}
}
