/* SPDX-License-Identifier: Apache-2.0 */
/* The path's limit, on the measuring side: both sides at once, for each size. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "measure/perf/client.h"
#include "tool/tool.h"

/* The server's figure; a direction without the server is left out. */
static double
speed_there(const json_t *ran, const char *member)
{
	return json_object_get(ran, member) ? job_real(ran, member) : INFINITY;
}

static int
measure_copies(struct perf *p, struct path *path, uint64_t copy_bytes, double *GBps)
{
	struct path_speed here = { INFINITY, INFINITY };
	double out, in;
	json_t *ran;
	int rc = perf_tell(p, "path", json_pack("{s:I}", "bytes", (json_int_t)copy_bytes),
			   "path_go");

	if (!rc)
		rc = path_run(path, copy_bytes, &here);
	if (!rc)
		rc = perf_await(p, "path_ran", p->args->timeout_s * 1000, &ran);
	if (rc)
		return rc;
	out = job_has_out(&p->job) ? fmin(here.from_GBps, speed_there(ran, "to")) : INFINITY;
	in = job_has_in(&p->job) ? fmin(here.to_GBps, speed_there(ran, "from")) : INFINITY;
	*GBps = fmin(out, in) > 0 ? fmin(out, in) : NAN; /* 0: too slow to measure */
	json_decref(ran);
	return 0;
}

int
perf_measure_path(struct perf *p)
{
	static const uint64_t copies[] = { 1 << 20, 64 << 20 };
	const struct place *mem = &p->args->mem;
	struct path *path;
	int rc;

	if (!mem->gpus && !p->far_mem.gpus)
		return 0;
	path = calloc(1, sizeof(*path));
	rc = path ? path_open(p->gpus, mem, job_has_out(&p->job), job_has_in(&p->job), path)
		  : -ENOMEM;
	for (size_t i = 0; !rc && i < ARRAY_LEN(copies); i++)
		rc = measure_copies(p, path, copies[i], &p->path_GBps[i]);
	if (path)
		path_close(path);
	free(path);
	return rc;
}
