/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of tcpx irq apply, restore and verify, and their handling of signals. */
#include "tune/plan/irq_table.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tune/info/machine.h"
#include "tool/out_text.h"
#include "tool/json_file.h"
#include "tool/tool.h"

static volatile sig_atomic_t caught;

static void
note_signal(int sig)
{
	caught = sig;
}

void
irq_table_catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_handler = note_signal }; /* no SA_RESTART: waits end */

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN); /* a reader that leaves must not end us half way */
}

bool
irq_table_stopped(void *arg)
{
	(void)arg;
	return caught != 0;
}

int
irq_table_exit(enum tcpx_aff_outcome outcome)
{
	static const int codes[] = {
		[TCPX_AFF_DONE] = TOOL_OK,
		[TCPX_AFF_FINDINGS] = TOOL_FINDING,
		[TCPX_AFF_REFUSED] = TOOL_USAGE,
		[TCPX_AFF_DENIED] = TOOL_DENIED,
		[TCPX_AFF_ROLLED_BACK] = TOOL_ROLLED_BACK,
		[TCPX_AFF_HALF] = TOOL_HALF,
	};

	return codes[outcome];
}

const char *
irq_table_outcome(enum tcpx_aff_outcome outcome)
{
	static const char *const names[] = {
		[TCPX_AFF_DONE] = "done",
		[TCPX_AFF_FINDINGS] = "findings",
		[TCPX_AFF_REFUSED] = "refused",
		[TCPX_AFF_DENIED] = "denied",
		[TCPX_AFF_ROLLED_BACK] = "rolled back",
		[TCPX_AFF_HALF] = "half undone",
	};

	return names[outcome];
}

static const char *
list_text(const struct tcpx_cpuset *set, char buf[MACHINE_CPU_LIST])
{
	if (tcpx_cpuset_empty(set))
		return "-";
	return machine_cpu_list(set, buf);
}

static enum tool_colour
colour_of(enum tcpx_aff_state state)
{
	switch (state) {
	case TCPX_AFF_EFFECTIVE:
	case TCPX_AFF_RESTORED:
	case TCPX_AFF_REQUESTED:
		return TOOL_GREEN;
	case TCPX_AFF_PENDING:
	case TCPX_AFF_UNTOUCHED:
	case TCPX_AFF_MANAGED:
		return TOOL_DIM;
	default:
		return TOOL_RED;
	}
}

static const char *
state_text(const struct tcpx_aff_item *item, enum irq_table how)
{
	if (item->state == TCPX_AFF_UNTOUCHED && how == IRQ_TABLE_DRY)
		return item->move ? "to be moved" : "there already";
	return tcpx_aff_state_name(item->state);
}

void
irq_table_print(const struct tcpx_aff_item *items, unsigned count, enum irq_table how)
{
	char was[MACHINE_CPU_LIST], want[MACHINE_CPU_LIST], now[MACHINE_CPU_LIST];
	char what[24];
	bool look = how == IRQ_TABLE_LOOK || how == IRQ_TABLE_COUNTED;

	if (!count)
		return;
	printf("%s%-14s %-10s %-10s %-10s %-15s", tool_paint(stdout, TOOL_BOLD), "irq",
	       look ? "asked for" : "before", "planned", "effective", "state");
	if (how == IRQ_TABLE_COUNTED)
		printf(" %10s %10s", "on plan", "elsewhere");
	printf("  name%s\n", tool_paint(stdout, TOOL_PLAIN));
	for (unsigned i = 0; i < count; i++) {
		const struct tcpx_aff_item *item = &items[i];

		if (item->kind == TCPX_AFF_XPS)
			snprintf(what, sizeof(what), "tx-%u xps", item->number);
		else
			snprintf(what, sizeof(what), "%u", item->number);
		printf("%-14s %-10s %-10s %-10s %s%-15s%s", what,
		       list_text(look ? &item->now : &item->old, was),
		       list_text(&item->want, want), list_text(&item->now_eff, now),
		       tool_paint(stdout, colour_of(item->state)), state_text(item, how),
		       tool_paint(stdout, TOOL_PLAIN));
		if (how == IRQ_TABLE_COUNTED)
			printf(" %10" PRIu64 " %10" PRIu64, item->on_plan, item->off_plan);
		printf("  ");
		out_plain(stdout, item->name);
		if (item->renumbered)
			printf(" (now or before irq %u)", item->renumbered);
		if (item->instead)
			printf(" (the planned CPU was full)");
		putchar('\n');
	}
}

const char *
irq_table_summary(const struct tcpx_aff_item *items, unsigned count, char *buf, size_t cap)
{
	unsigned counts[TCPX_AFF_STATES] = { 0 };
	size_t len = 0;

	*buf = '\0';
	for (unsigned i = 0; i < count; i++)
		counts[items[i].state]++;
	for (int s = 0; s < TCPX_AFF_STATES && len < cap; s++)
		if (counts[s])
			len += (size_t)snprintf(buf + len, cap - len, "%s%u %s", len ? ", " : "",
						counts[s], tcpx_aff_state_name(s));
	return count ? buf : "nothing";
}

static json_t *
set_json(const struct tcpx_cpuset *set)
{
	return tcpx_cpuset_empty(set) ? json_null() : tool_json_cpus(set);
}

json_t *
irq_table_json(const struct tcpx_aff_item *items, unsigned count, enum irq_table how)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < count; i++) {
		const struct tcpx_aff_item *item = &items[i];
		bool xps = item->kind == TCPX_AFF_XPS;
		json_t *one = json_pack("{s:s, s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "kind",
					xps ? "xps" : "irq", xps ? "queue" : "irq",
					(int)item->number, xps ? "nic" : "name",
					out_json(item->name), "state",
					tcpx_aff_state_name(item->state), "before",
					set_json(&item->old), "effective_before",
					set_json(&item->old_eff), "planned", set_json(&item->want),
					"asked", set_json(&item->now), "effective",
					set_json(&item->now_eff));

		if (item->rc)
			json_object_set_new(one, "error", json_string(tcpx_err_name(item->rc)));
		if (item->renumbered)
			json_object_set_new(one, "other_irq", json_integer(item->renumbered));
		if (how == IRQ_TABLE_COUNTED && !xps) {
			json_object_set_new(one, "on_plan", json_integer((json_int_t)item->on_plan));
			json_object_set_new(one, "elsewhere",
					    json_integer((json_int_t)item->off_plan));
		}
		json_array_append_new(list, one);
	}
	return list;
}
