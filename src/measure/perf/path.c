/* SPDX-License-Identifier: Apache-2.0 */
/* Two turns of copies in flight on each stream; those that end in the middle part count. */
#include "measure/perf/path.h"

#include <errno.h>
#include <math.h>
#include <sched.h>

#include "base/clock.h"
#include "tool/tool.h"

#define MARGIN_NS (60 * TCPX_MS) /* before and after the part that counts */
#define COUNTED_NS (200 * TCPX_MS)
#define PATIENCE_NS (5 * TCPX_SEC) /* for one whole turn of each stream, on a slow machine */

/* Takes a turn that has ended and posts the next. */
static int
step(struct path_stream *s, uint64_t copy_bytes, uint64_t begin_ns)
{
	int rc = gpu_flow_poll(&s->flow, s->turn);
	uint64_t now;

	if (rc)
		return rc == -EAGAIN ? 0 : rc;
	now = tool_now_ns();
	if (now > begin_ns + MARGIN_NS &&
	    (now < begin_ns + MARGIN_NS + COUNTED_NS || !s->turns)) {
		s->turns += s->first_ns != 0;
		if (!s->first_ns)
			s->first_ns = now;
		s->last_ns = now;
	}
	return gpu_flow_post(&s->flow, copy_bytes, s->turn++);
}

static bool
all_have_turned(const struct path *path)
{
	for (unsigned k = 0; k < path->streams; k++)
		if (!path->stream[k].turns)
			return false;
	return true;
}

static double
speed_of(const struct path_stream *s)
{
	if (!s->turns)
		return 0;
	return (double)s->turns * GPU_FLOW_BYTES / (double)(s->last_ns - s->first_ns);
}

int
path_open(struct gpus *g, const struct place *place, bool from, bool to, struct path *path)
{
	struct path p = { .from = from && place->gpus, .to = to && place->gpus };
	int rc = 0;

	for (unsigned i = 0; !rc && i < 2 * place->gpus; i++) {
		bool to_gpu = i % 2;

		if (!(to_gpu ? to : from))
			continue;
		rc = gpu_flow_open(g, place->gpu[i / 2], to_gpu, &p.stream[p.streams].flow);
		p.streams += !rc;
	}
	if (rc)
		path_close(&p);
	else
		*path = p;
	return rc;
}

void
path_close(struct path *path)
{
	for (unsigned i = 0; i < path->streams; i++)
		gpu_flow_close(&path->stream[i].flow);
	*path = (struct path){ 0 };
}

int
path_begin(struct path *path, uint64_t copy_bytes)
{
	int rc = 0;

	path->copy_bytes = copy_bytes;
	path->begin_ns = tool_now_ns();
	for (unsigned k = 0; !rc && k < path->streams; k++) {
		struct path_stream *s = &path->stream[k];

		*s = (struct path_stream){ .flow = s->flow };
		rc = gpu_flow_post(&s->flow, copy_bytes, 0);
		if (!rc)
			rc = gpu_flow_post(&s->flow, copy_bytes, 1);
	}
	return rc;
}

int
path_step(struct path *path, struct path_speed *speed)
{
	struct path_speed sum = { path->from ? 0 : INFINITY, path->to ? 0 : INFINITY };
	uint64_t lasts_ns = all_have_turned(path) ? 2 * MARGIN_NS + COUNTED_NS : PATIENCE_NS;
	bool over = !path->streams || tool_now_ns() >= path->begin_ns + lasts_ns;
	int rc = 0;

	for (unsigned k = 0; !rc && !over && k < path->streams; k++)
		rc = step(&path->stream[k], path->copy_bytes, path->begin_ns);
	if (!rc && !over)
		return -EAGAIN;
	for (unsigned k = 0; !rc && k < path->streams; k++) {
		struct path_stream *s = &path->stream[k];

		*(s->flow.to_gpu ? &sum.to_GBps : &sum.from_GBps) += speed_of(s);
		rc = gpu_flow_wait(&s->flow);
	}
	if (!rc)
		*speed = sum;
	return rc;
}

int
path_run(struct path *path, uint64_t copy_bytes, struct path_speed *speed)
{
	int rc = path_begin(path, copy_bytes);

	if (rc)
		return rc;
	while ((rc = path_step(path, speed)) == -EAGAIN)
		sched_yield();
	return rc;
}
