/* SPDX-License-Identifier: Apache-2.0 */
/* The looks at the machine before and after the run. */
#include <stdlib.h>
#include <string.h>

#include "measure/diag/diag.h"
#include "tool/tool.h"
#include "tune/facts/text.h"

static int
read_stats(struct diag *d, struct diag_side *side)
{
	struct tcpx_asker asker;
	int rc = 0;

	side->stats = calloc(side->topo->nic_count + 1, sizeof(*side->stats));
	if (!side->stats)
		return -1;
	tcpx_asker_open(d->root, &asker);
	for (unsigned i = 0; rc == 0 && i < side->topo->nic_count; i++) {
		struct diag_stats *s = &side->stats[i];

		rc = tcpx_nicstat_read(d->root, &asker, side->topo->nics[i].nic->ifname, &s->at,
				       &s->n, &s->why);
	}
	tcpx_asker_close(&asker);
	return rc;
}

int
diag_look(struct diag *d, struct diag_side *side)
{
	if (tcpx_topo_read(d->root, &side->topo) < 0)
		return TOOL_USAGE; /* the reason is in the log */
	side->snapped = tcpx_snapshot_take(d->root, side->topo, NULL, &side->snap) == 0;
	return read_stats(d, side) < 0 ? TOOL_DENIED : TOOL_OK;
}

void
diag_side_fini(struct diag_side *side)
{
	for (unsigned i = 0; side->stats && i < side->topo->nic_count; i++)
		free(side->stats[i].at);
	free(side->stats);
	if (side->snapped)
		tcpx_snapshot_fini(&side->snap);
	tcpx_topo_free(side->topo);
	*side = (struct diag_side){ .topo = NULL };
}

int
diag_nic_place(const struct diag_side *side, const char *name)
{
	for (unsigned i = 0; side->topo && i < side->topo->nic_count; i++)
		if (!strcmp(side->topo->nics[i].nic->ifname, name))
			return (int)i;
	return -1;
}

static const struct tcpx_nicstat *
find(const struct diag_side *side, const char *nic, const char *counter)
{
	int i = diag_nic_place(side, nic);

	return i < 0 ? NULL : tcpx_nicstat_find(side->stats[i].at, side->stats[i].n, counter);
}

uint64_t
diag_rise(const struct diag *d, const char *nic, const char *counter)
{
	const struct tcpx_nicstat *a = find(&d->before, nic, counter);
	const struct tcpx_nicstat *b = find(&d->after, nic, counter);

	if (!b)
		return 0;
	return a && b->value >= a->value ? b->value - a->value : b->value;
}

bool
diag_is_shown(const struct diag *d, const struct tcpx_topo_nic *nic)
{
	const char *name = nic->nic->ifname;

	return nic->nic->hardware || nic->vector_count || diag_rise(d, name, "rx_bytes") ||
	       diag_rise(d, name, "tx_bytes");
}

/* ---- the data path manager -------------------------------------------------------- */

static const char *const managers[] = { "tcpgpudmarxd", "rxdm", "dp-manager", "dp_manager",
					"fastrak_gpumem" };

static bool
is_manager(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(managers); i++)
		if (strcasestr(text, managers[i]))
			return true;
	return false;
}

static void
look_at_process(struct diag *d, const char *pid)
{
	struct diag_process *p = &d->process[d->process_count];
	char path[64], *slash;

	*p = (struct diag_process){ .pid = atol(pid) };
	if (p->pid <= 0)
		return;
	snprintf(path, sizeof(path), "/proc/%ld/comm", p->pid);
	if (tcpx_host_text_read(d->root, path, p->name, sizeof(p->name)) < 0)
		return;
	/* its first word; the others may be secret */
	snprintf(path, sizeof(path), "/proc/%ld/cmdline", p->pid);
	if (tcpx_host_text_read(d->root, path, p->command, sizeof(p->command)) < 0)
		p->command[0] = '\0';
	slash = strrchr(p->command, '/');
	if (is_manager(p->name) || is_manager(slash ? slash : p->command))
		d->process_count++;
}

void
diag_find_processes(struct diag *d)
{
	enum { NAMES = 1 << 20 };
	char *names = malloc(NAMES);

	if (names && tcpx_host_names_read(d->root, "/proc", names, NAMES) >= 0)
		for (const char *n = names; *n && d->process_count < DIAG_PROCESSES;
		     n += strlen(n) + 1)
			if (*n >= '1' && *n <= '9')
				look_at_process(d, n);
	free(names);
}

/* Lines about the data path; heap, the caller's. */
static char *
excerpt(char *text)
{
	static const char *const words[] = { "tcpx", "gve", "nccl", "dmabuf", "devmem" };
	char *kept = NULL, *line, *rest;
	size_t len = 0, lines = 0;
	FILE *f = open_memstream(&kept, &len);

	if (!f)
		return NULL;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		bool keep = is_manager(line);

		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			keep |= strcasestr(line, words[i]) != NULL;
		if (keep && lines++ < DIAG_JOURNAL_LINES)
			fprintf(f, "%s\n", line);
	}
	if (lines > DIAG_JOURNAL_LINES)
		fprintf(f, "(%zu more lines)\n", lines - DIAG_JOURNAL_LINES);
	fclose(f);
	return kept;
}

void
diag_read_journal(struct diag *d)
{
	char program[] = "journalctl", pager[] = "--no-pager", quiet[] = "--quiet";
	char format[] = "--output=short-iso", since[48], lines[] = "--lines=20000", *text;
	char *words[] = { program, pager, quiet, format, since, lines, NULL };
	int rc;

	if (d->root) {
		snprintf(d->journal_why, sizeof(d->journal_why), "another root has no journal");
		return;
	}
	snprintf(since, sizeof(since), "--since=@%lld", (long long)d->started_s);
	rc = diag_capture(words, 5, 4u << 20, &text);
	if (rc == 0) {
		d->journal = excerpt(text);
		if (d->journal && !*d->journal)
			snprintf(d->journal_why, sizeof(d->journal_why), "it says nothing of it");
	} else {
		snprintf(d->journal_why, sizeof(d->journal_why), "%s",
			 rc == 127 ? "no journalctl here" :
			 rc < 0 ? strerror(-rc) : "journalctl failed");
	}
	free(text);
}
