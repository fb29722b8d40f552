/* SPDX-License-Identifier: Apache-2.0 */
/* The files in the folder of a `tcpx diag` run. */
#include <stdlib.h>
#include <string.h>

#include "measure/diag/diag.h"
#include "tool/output.h"
#include "tune/plan/irq_count.h"
#include "measure/job/job.h"
#include "tool/out_text.h"
#include "tool/json_file.h"
#include "tool/tool.h"

static void
write_summary(FILE *f, const struct diag *d, const json_t *json)
{
	diag_print_summary(f, json);
}

static void
write_metrics(FILE *f, const struct diag *d, const json_t *json)
{
	diag_print_metrics(f, json);
}

static void
write_irq_diff(FILE *f, const struct diag *d, const json_t *json)
{
	if (d->diffed)
		irq_diff_print(f, &d->diff, &d->after.snap, true, true);
	else
		fputs("no counts of interrupts can be read here\n", f);
}

static void
write_snapshot(FILE *f, const struct diag_side *side)
{
	char *bytes;
	size_t len;

	if (!side->snapped || tcpx_snapshot_format(&side->snap, &bytes, &len) < 0)
		return;
	fwrite(bytes, 1, len, f);
	free(bytes);
}

static void
write_before(FILE *f, const struct diag *d, const json_t *json)
{
	write_snapshot(f, &d->before);
}

static void
write_after(FILE *f, const struct diag *d, const json_t *json)
{
	write_snapshot(f, &d->after);
}

static void
print_set(FILE *f, const struct tcpx_maybe_set *set, int width)
{
	char *text = set->why ? NULL : tool_cpu_list(&set->cpus);

	fprintf(f, " %-*s", width, text ? text : "-");
	free(text);
}

static void
write_affinity(FILE *f, const struct diag *d, const json_t *json)
{
	fprintf(f, "%-7s %-15s %-6s %5s %-24s %-16s %s\n", "IRQ", "NIC", "kind", "queue",
		"requested", "effective", "name");
	for (unsigned i = 0; i < d->after.topo->nic_count; i++) {
		const struct tcpx_topo_nic *nic = &d->after.topo->nics[i];

		for (unsigned k = 0; k < nic->vector_count; k++) {
			const struct tcpx_nic_vector *v = &nic->vectors[k];

			fprintf(f, "%-7u %-15s %-6s %5d", v->v.irq, nic->nic->ifname,
				tcpx_vector_kind_name(v->v.kind), v->v.queue);
			print_set(f, &v->requested, 24);
			print_set(f, &v->effective, 16);
			fputc(' ', f);
			out_plain(f, v->v.name);
			fputc('\n', f);
		}
	}
}

static void
write_counters(FILE *f, const struct diag *d, const json_t *json)
{
	const json_t *nics = json_object_get(json, "nics"), *nic, *value;
	const char *name;
	size_t i;

	json_array_foreach(nics, i, nic) {
		out_plain(f, job_text(nic, "name"));
		if (json_is_string(json_object_get(nic, "driver_counters_why")))
			fprintf(f, " (none of the driver: %s)",
				job_text(nic, "driver_counters_why"));
		fputc('\n', f);
		json_object_foreach(json_object_get(nic, "counters"), name, value) {
			fputs("  ", f);
			out_plain(f, name);
			fprintf(f, " +%.0f\n", json_number_value(value));
		}
	}
}

static void
write_environment(FILE *f, const struct diag *d, const json_t *json)
{
	const char *name;
	json_t *value;

	json_object_foreach(json_object_get(json, "environment"), name, value) {
		out_plain(f, name);
		fputc('=', f);
		out_plain(f, json_string_value(value));
		fputc('\n', f);
	}
}

static void
write_manager(FILE *f, const struct diag *d, const json_t *json)
{
	if (!d->process_count)
		fputs("no data path manager (RxDM) runs here\n", f);
	for (unsigned i = 0; i < d->process_count; i++) {
		fprintf(f, "process %ld: ", d->process[i].pid);
		out_plain(f, d->process[i].name);
		fputs(", ", f);
		out_plain(f, d->process[i].command);
		fputc('\n', f);
	}
	fputs("\njournal:\n", f);
	if (*d->journal_why)
		fprintf(f, "nothing: %s\n", d->journal_why);
	for (const char *p = d->journal ? d->journal : ""; *p;) {
		size_t len = strcspn(p, "\n");
		char *line = strndup(p, len);

		if (line)
			out_plain(f, line);
		fputc('\n', f);
		free(line);
		p += len + (p[len] != '\0');
	}
}

static int
write_one(const struct diag *d, const json_t *json, const char *name,
	  void (*write)(FILE *f, const struct diag *d, const json_t *json))
{
	struct output out;
	char path[640];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", d->dir, name);
	rc = output_open(&out, path);
	if (!rc) {
		write(out.f, d, json);
		rc = output_close(&out, false);
	}
	return rc ? output_refused("tcpx diag", path, rc) : TOOL_OK;
}

int
diag_write(const struct diag *d, const json_t *json)
{
	static const struct {
		const char *name;
		void (*write)(FILE *f, const struct diag *d, const json_t *json);
	} files[] = {
		{ "SUMMARY.txt", write_summary },
		{ "irq_before.snapshot", write_before },
		{ "irq_after.snapshot", write_after },
		{ "irq_diff.txt", write_irq_diff },
		{ "irq_affinity.txt", write_affinity },
		{ "nic_counters.txt", write_counters },
		{ "rxdm.txt", write_manager },
		{ "environment.txt", write_environment },
	};
	const char *kind = diag_kind_name(d->metrics.kind);
	char path[640], name[64];
	int rc = TOOL_OK, one;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		one = write_one(d, json, files[i].name, files[i].write);
		rc = rc ? rc : one;
	}
	if (kind && d->metrics.n) {
		snprintf(name, sizeof(name), "%s_metrics_summary.txt", kind);
		one = write_one(d, json, name, write_metrics);
		rc = rc ? rc : one;
	}
	snprintf(path, sizeof(path), "%s/diag.json", d->dir);
	one = tool_json_write("tcpx diag", json, path);
	return rc ? rc : one;
}
