/* SPDX-License-Identifier: Apache-2.0 */
/* The measurement of the copy kernels as a table for people and as JSON. */
#include <errno.h>

#include <jansson.h>

#include "unpack.h"

static void
print_table(FILE *out, const struct unpack_bench *b)
{
	fprintf(out, "# %s, %u multiprocessors, driver %d.%d; medians of %u pairs\n", b->gpu_name,
		b->sms, b->driver / 1000, b->driver % 1000 / 10, b->rounds);
	fprintf(out, "# 64 MiB: device to device %.1f us, host to device %.1f GB/s\n", b->copy_us,
		b->host_copy_GBps);
	fprintf(out, "%-20s %8s %8s %8s %8s %8s %8s %6s  %s\n", "# fragments", "us", "GB/s",
		"of D2D", "2 SMs", "pull", "of H2D", "wrong", "kernel");
	for (int i = 0; i < UNPACK_CASES; i++) {
		const struct unpack_bench_row *r = &b->row[i];

		fprintf(out, "%-20s %8.1f %8.0f %8.3f %8.1f", r->name, r->us, r->GBps, r->of_copy,
			r->few_GBps);
		if (r->pull_GBps > 0)
			fprintf(out, " %8.1f %8.3f", r->pull_GBps, r->pull_of_copy);
		else
			fprintf(out, " %8s %8s", "-", "-");
		fprintf(out, " %6llu  %s\n", (unsigned long long)r->wrong, r->kernel);
	}
	fprintf(out,
		"# 512 KiB, from the call until the stream is done: launch %.1f us, "
		"device to device %.1f us; ratio %.3f of %u pairs\n",
		b->chunk_us, b->chunk_copy_us, b->chunk_of_copy, b->chunk_pairs);
	fprintf(out,
		"# until a word in host memory says so: launch %.1f us, device to device "
		"%.1f us; ratio %.3f; list in host memory %.1f us\n",
		b->chunk_word_us, b->chunk_word_copy_us, b->chunk_word_of_copy,
		b->chunk_host_list_us);
}

static json_t *
row_json(const struct unpack_bench_row *r)
{
	json_t *row = json_pack("{ss ss sf sf sf sf sI}", "fragments", r->name, "kernel",
				r->kernel, "us", r->us, "GBps", r->GBps, "of_d2d", r->of_copy,
				"two_sms_GBps", r->few_GBps, "wrong", (json_int_t)r->wrong);

	if (row && r->pull_GBps > 0) {
		json_object_set_new(row, "pull_GBps", json_real(r->pull_GBps));
		json_object_set_new(row, "pull_of_h2d", json_real(r->pull_of_copy));
	}
	return row;
}

static int
write_json(const char *path, const struct unpack_bench *b)
{
	json_t *rows = json_array(), *all;
	int rc;

	for (int i = 0; i < UNPACK_CASES; i++)
		json_array_append_new(rows, row_json(&b->row[i]));
	all = json_pack("{ss si si si sf sf s{si sf sf sf sf sf sf sf} so}", "gpu", b->gpu_name,
			"driver", b->driver, "multiprocessors", (int)b->sms, "pairs",
			(int)b->rounds, "d2d_us", b->copy_us, "h2d_GBps", b->host_copy_GBps,
			"chunk", "pairs", (int)b->chunk_pairs, "us", b->chunk_us, "d2d_us",
			b->chunk_copy_us, "of_d2d", b->chunk_of_copy, "word_us",
			b->chunk_word_us, "word_d2d_us", b->chunk_word_copy_us, "word_of_d2d",
			b->chunk_word_of_copy, "host_list_us", b->chunk_host_list_us, "rows",
			rows);
	if (!all)
		return tcpx_fail(TCPX_SUB_TOOL, -ENOMEM, "the result as JSON");
	rc = json_dump_file(all, path, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	json_decref(all);
	return rc ? tcpx_fail_errno(TCPX_SUB_TOOL, "write %s", path) : 0;
}

int
unpack_bench(FILE *out, const char *json, const char *library, unsigned gpu, unsigned rounds)
{
	struct unpack_bench b;
	uint64_t wrong = 0;
	int rc = unpack_bench_run(library, gpu, rounds, &b);

	if (rc)
		return rc;
	print_table(out, &b);
	if (json && (rc = write_json(json, &b)))
		return rc;
	for (int i = 0; i < UNPACK_CASES; i++)
		wrong += b.row[i].wrong;
	return wrong ? tcpx_fail(TCPX_SUB_TOOL, TCPX_EDATA, "%llu bytes wrong",
				 (unsigned long long)wrong) :
		       0;
}
