/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block runs whole or begins again. state.json is written before anything is set up, so
 * the next process after a kill knows what to take down.
 */
#include "measure/matrix/blocks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/tool.h"

static const char command_name[] = "tcpx matrix";

static const char *
boot_id(char buf[64])
{
	char *text = matrix_file_read("/proc/sys/kernel/random/boot_id", NULL);

	snprintf(buf, 64, "%.60s", text ? text : "");
	buf[strcspn(buf, "\n")] = '\0';
	free(text);
	return buf;
}

/* Records what is set up from now on. */
static int
state_write(struct matrix_session *s, const char *cell)
{
	char boot[64];
	json_t *state = json_pack("{s:s, s:s, s:s, s:s, s:b}", "id", s->id, "boot", boot_id(boot),
				  "share", s->share, "cell", cell, "study", s->study_up);
	int rc = state ? matrix_store_write(&s->store, "state.json", state) : -ENOMEM;

	json_decref(state);
	return rc;
}

/* ---- undoing --------------------------------------------------------------------- */

/* Processes of this study: they carry its id in their environment. */
static unsigned
leftovers_end(const struct matrix_session *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char mark[64], path[300];
	unsigned ended = 0;

	snprintf(mark, sizeof(mark), "MATRIX_ID=%s", s->id);
	while (dir && (entry = readdir(dir))) {
		long pid = strtol(entry->d_name, NULL, 10);
		char *text;
		size_t len = 0;

		if (!isdigit((unsigned char)entry->d_name[0]) || pid == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%s/environ", entry->d_name);
		text = matrix_file_read(path, &len);
		if (text && memmem(text, len, mark, strlen(mark) + 1))
			ended += !kill((pid_t)pid, SIGKILL);
		free(text);
	}
	if (dir)
		closedir(dir);
	return ended;
}

static int
study_down(struct matrix_session *s)
{
	const struct matrix_section *study = &s->spec.sections[0];
	char why[MATRIX_WHY];
	int rc;

	if (!s->study_up)
		return TOOL_OK;
	rc = matrix_commands(&s->runner, study->lines, study->n, MATRIX_TEARDOWN, false, why);
	if (rc)
		return tool_fail(TOOL_HALF, command_name, "the study's tear-down failed: %s",
				 rc > 0 ? why : "see the log");
	s->study_up = false;
	return state_write(s, "") ? TOOL_FINDING : TOOL_OK;
}

static int
cell_down(struct matrix_session *s, const char *name)
{
	struct matrix_env kept = s->runner.env, own;
	int at = matrix_design_cell(&s->design, name), rc;
	const struct matrix_cell *cell = at < 0 ? NULL : &s->design.cells[at];
	char why[MATRIX_WHY];

	if (!cell || matrix_cell_env(&s->runner, cell, &own))
		return TOOL_OK;
	s->runner.env = own;
	rc = matrix_commands(&s->runner, cell->lines, cell->n, MATRIX_TEARDOWN, false, why);
	matrix_env_fini(&s->runner.env);
	s->runner.env = kept;
	if (rc)
		return tool_fail(TOOL_HALF, command_name, "cell %s was set up and cannot be taken "
				 "down: %s\nundo it by hand, then resume with --undone", name,
				 rc > 0 ? why : "see the log");
	return TOOL_OK;
}

int
matrix_blocks_undo(struct matrix_session *s, bool undone)
{
	char boot[64], path[MATRIX_PATH];
	const char *id, *old, *cell;
	json_t *state;
	int rc = TOOL_OK, up;
	unsigned ended;

	matrix_store_path(&s->store, "state.json", path);
	state = access(path, F_OK) ? NULL : matrix_store_read(&s->store, "state.json");
	if (!state)
		return TOOL_OK;
	if (json_unpack(state, "{s:s, s:s, s:s, s:b}", "id", &id, "boot", &old, "cell", &cell,
			"study", &up)) {
		json_decref(state);
		return tool_fail(TOOL_USAGE, command_name, "%s is not of a study", path);
	}
	/* what was set up before a reboot is gone */
	if (!undone && !strcmp(old, boot_id(boot))) {
		snprintf(s->id, sizeof(s->id), "%s", id);
		ended = leftovers_end(s);
		if (ended)
			fprintf(stderr, "ended %u processes that the interrupted run left\n", ended);
		if (*cell)
			fprintf(stderr, "cell %s was interrupted: taking it down\n", cell);
		rc = *cell ? cell_down(s, cell) : TOOL_OK;
		s->study_up = up;
		rc = rc ? rc : study_down(s);
	}
	json_decref(state);
	s->study_up = rc ? s->study_up : false;
	return rc ? rc : state_write(s, "") ? TOOL_FINDING : TOOL_OK;
}

/* ---- blocks ---------------------------------------------------------------------- */

/* The number of the block at @index of the order: warm-up ones end with 0. */
static int
block_of(const struct matrix_session *s, unsigned index)
{
	return (int)index - (int)s->spec.warmup + 1;
}

static bool
has_row(const struct matrix_session *s, int block, unsigned attempt, const char *cell)
{
	for (size_t i = 0; i < s->store.n; i++)
		if (s->store.runs[i].block == block && s->store.runs[i].attempt == attempt &&
		    !strcmp(s->store.runs[i].cell, cell))
			return true;
	return false;
}

static bool
is_complete(const struct matrix_session *s, int block)
{
	unsigned attempt = matrix_store_attempt(&s->store, block);

	for (size_t c = 0; c < s->design.n; c++)
		if (s->present[c] && !has_row(s, block, attempt, s->design.cells[c].name))
			return false;
	return attempt > 0;
}

static void
where_text(const struct matrix_session *s, int block, char where[32])
{
	if (block > 0)
		snprintf(where, 32, "block %d/%u", block, s->spec.blocks);
	else
		snprintf(where, 32, "warm-up");
}

/* The work of this process: all runs of the blocks that are not whole. */
static void
pace_begin(struct matrix_session *s)
{
	unsigned total = s->spec.warmup + s->spec.blocks;

	s->begin_ns = tcpx_clock_now(&tcpx_clock_system);
	s->runs_done = s->runs_left = 0;
	for (unsigned b = 0; b < total; b++)
		for (size_t c = 0; c < s->design.n; c++)
			s->runs_left += s->present[c] && !is_complete(s, block_of(s, b));
}

/* What runs now, and how long the rest takes if it goes on as so far. */
static void
show_run(const struct matrix_session *s, int block, const char *cell)
{
	uint64_t ns = tcpx_clock_now(&tcpx_clock_system) - s->begin_ns;
	char where[32], left[64] = "";

	where_text(s, block, where);
	if (s->runs_done)
		snprintf(left, sizeof(left), "  about %.0f s left",
			 (double)ns / 1e9 / (double)s->runs_done * (double)s->runs_left);
	tool_progress("%s  %.20s  run %zu/%zu%s", where, cell, s->runs_done + 1,
		      s->runs_done + s->runs_left, left);
}

static void
say_run(const struct matrix_session *s, const struct matrix_run *run)
{
	char where[32];

	where_text(s, run->block, where);
	if (run->valid)
		fprintf(stderr, "%-12s %-20s %12.6g %s\n", where, run->cell, run->figure,
			matrix_spec_text(&s->spec, MATRIX_UNIT, ""));
	else
		fprintf(stderr, "%-12s %-20s invalid: %s\n", where, run->cell, run->reason);
}

static int
cell_run(struct matrix_session *s, int block, unsigned attempt, unsigned order, size_t c)
{
	const struct matrix_cell *cell = &s->design.cells[c];
	struct matrix_run run = { .block = block, .attempt = attempt, .order = order,
				  .figure = NAN };
	char why[MATRIX_WHY] = "";
	int rc;

	snprintf(run.cell, sizeof(run.cell), "%s", cell->name);
	if (state_write(s, cell->name))
		return TOOL_FINDING;
	show_run(s, block, cell->name);
	rc = matrix_cell_run(&s->runner, cell, &run, why);
	tool_progress_clear();
	if (!rc || rc == 1)
		say_run(s, &run);
	s->runs_done++;
	s->runs_left--;
	if (rc == 1)
		return tool_fail(TOOL_HALF, command_name, "the tear-down of cell %s failed, so the "
				 "next run would not be what it claims: %s\nundo it by hand, then "
				 "`tcpx matrix resume --undone %s`", cell->name, why, s->store.dir);
	if (state_write(s, ""))
		return TOOL_FINDING;
	if (rc == -EINTR)
		return TOOL_FINDING;
	return rc ? tool_fail(TOOL_FINDING, command_name, "cell %s: %s", cell->name,
			      tcpx_err_text(rc)) : TOOL_OK;
}

static int
block_run(struct matrix_session *s, unsigned index)
{
	int block = block_of(s, index), rc = TOOL_OK;
	unsigned attempt = matrix_store_attempt(&s->store, block) + 1, place = 0;
	unsigned char order[MATRIX_CELLS_MAX];

	matrix_order(s->design.n, s->spec.seed, index, order);
	for (size_t i = 0; !rc && i < s->design.n; i++) {
		if (!s->present[order[i]])
			continue;
		rc = cell_run(s, block, attempt, ++place, order[i]);
		if (!s->runner.signal)
			s->runner.signal = matrix_exec_asked();
		if (!rc && s->runner.signal)
			rc = TOOL_FINDING;
	}
	return rc;
}

int
matrix_blocks_run(struct matrix_session *s)
{
	const struct matrix_section *study = &s->spec.sections[0];
	unsigned total = s->spec.warmup + s->spec.blocks;
	char why[MATRIX_WHY] = "";
	int rc = TOOL_OK, down, set;

	s->study_up = true;
	if (state_write(s, ""))
		return TOOL_FINDING;
	set = matrix_commands(&s->runner, study->lines, study->n, MATRIX_SETUP, true, why);
	if (set)
		rc = tool_fail(TOOL_ROLLED_BACK, command_name, "the study's set-up failed: %s",
			       set > 0 ? why : "see the log");
	pace_begin(s);
	for (unsigned b = 0; !rc && b < total; b++)
		if (!is_complete(s, block_of(s, b)))
			rc = s->runner.signal ? TOOL_FINDING : block_run(s, b);
	if (rc == TOOL_HALF)
		return rc; /* the set-up stays, and state.json says so */
	down = study_down(s);
	if (s->runner.signal && !down)
		fprintf(stderr, "asked to end by signal %d; all is as before. Go on with: tcpx matrix "
			"resume %s\n", s->runner.signal, s->store.dir);
	return down ? down : rc;
}
