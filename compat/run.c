/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: the two sides agree on what is moved, print what they have, iterate, and hold their
 * figures against each other. Several GPUs are as many runs at once, a thread each.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tally.h"

static void
print_head(struct tally *t, const char *memory)
{
	struct link *l = t->link;
	const char *tag = l->run->program->tag;

	fprintf(l->out, "[%s] Mode: %s\n", tag, role_of(l));
	fprintf(l->out, "[%s] GPU: %u (%s)\n", tag, l->gpu, memory);
	fprintf(l->out, "[%s] Channels: %u\n", tag, print_channels(l, t->memory.gpu));
	if (t->size % (1 << 20))
		fprintf(l->out, "[%s] Size: %.6g MB\n", tag, (double)t->size / (1 << 20));
	else
		fprintf(l->out, "[%s] Size: %" PRIu64 " MB\n", tag, t->size >> 20);
	fprintf(l->out, "[%s] Iterations: %" PRIu64 "\n", tag, t->iters);
	fprintf(l->out, "[%s] Chunk size: %" PRIu64 " bytes\n", tag, t->chunk);
	if (!t->copied)
		fprintf(l->out, "[WARN] Unpack none: nothing is copied, the data is wrong and not"
			" compared\n");
	fflush(l->out);
}

/* The other side's figure beside ours: they are of the same intervals. */
static int
compare(struct tally *t)
{
	const char *us = t->link->run->server ? "server" : "client";
	const char *them = t->link->run->server ? "client" : "server";
	struct link *l = t->link;
	uint64_t theirs;
	double apart;
	int rc = link_tell(l, "took 0 %" PRIu64, t->ns);

	if (!rc)
		rc = hear_number(t, "took", 0, &theirs);
	if (rc || !t->ns || l->run->program->text)
		return rc;
	apart = 100.0 * ((double)theirs / (double)t->ns - 1);
	fprintf(l->out, "[%s] Agreement: %s %.3f ms, %s %.3f ms, %+.2f %%\n", l->run->program->tag,
		us, (double)t->ns / 1e6, them, (double)theirs / 1e6, apart);
	if (apart > 3 || apart < -3)
		fprintf(l->out, "[WARN] The two sides' times are more than 3 %% apart: too short a"
			" run, or a busy machine\n");
	return 0;
}

static void
print_average(const struct tally *t)
{
	const struct link *l = t->link;
	double n = (double)t->iters, ms = (double)t->ns / 1e6 / n;

	fprintf(l->out, "[%s] Avg (%" PRIu64 " iter): %.3f ms, BW: %.2f GB/s\n",
		l->run->program->tag, t->iters, ms, (double)t->size / 1e6 / ms);
	if (t->iters < 2)
		return;
	ms = (double)t->steady_ns / 1e6 / (n - 1);
	fprintf(l->out, "[STEADY-STATE] Avg time: %.3f ms, BW: %.2f GB/s\n", ms,
		(double)t->size / 1e6 / ms);
}

/* ---- one side -------------------------------------------------------------------- */

/* "none" copies nothing where a GPU is in use, on either side. */
static bool
copies(const struct run *r, const struct memory *m)
{
	return m->gpu < 0 || !r->impl || strcmp(r->impl, "none");
}

/* The client says what is moved; the server asks nothing but that it is possible. */
static int
agree(struct tally *t, char memory[96])
{
	struct link *l = t->link;
	int warm_up = l->run->warm_up, copied = 1, rc;
	char hello[256];

	if (!l->run->server) {
		*t = (struct tally){ .link = l, .size = l->run->size, .chunk = l->run->chunk,
				     .iters = l->run->iters, .warm_up = warm_up };
		rc = memory_open(l, t->size, &t->memory, memory);
		t->copied = copies(l->run, &t->memory);
		return rc ? rc : link_tell(l, "hello %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d",
					   l->run->program->name, t->size, t->chunk, t->iters,
					   warm_up, t->copied);
	}
	rc = link_accept(l, hello, sizeof(hello));
	if (rc)
		return rc;
	*t = (struct tally){ .link = l };
	if (sscanf(hello, "hello %*63s %" SCNu64 " %" SCNu64 " %" SCNu64 " %d %d", &t->size,
		   &t->chunk, &t->iters, &warm_up, &copied) != 5 || !t->size ||
	    t->size > PERF_BYTES_MAX || t->chunk < 65536 || !t->iters || t->iters > 100000 ||
	    strncmp(hello + 6, l->run->program->name, strlen(l->run->program->name)))
		return link_fail(l, -EBADMSG, hello);
	if (t->size != l->run->size || t->chunk != l->run->chunk || t->iters != l->run->iters)
		fprintf(l->out, "[Bootstrap] The client's size, chunk and iterations count\n");
	t->warm_up = warm_up;
	rc = memory_open(l, t->size, &t->memory, memory);
	t->copied = copied && copies(l->run, &t->memory);
	return rc;
}

static int
iterate(struct tally *t)
{
	struct link *l = t->link;
	int rc = 0;

	for (int i = t->warm_up ? WARM_UP : 0; !rc && i < (int)t->iters; i++) {
		if (i >= 0 && !l->run->program->text)
			fprintf(l->out, "[%s] Iteration %d: total bytes=%" PRIu64 ", chunk_bytes=%"
				PRIu64 "\n", l->run->program->tag, i, t->size, t->chunk);
		rc = l->run->server ? receive_iteration(t, i) : send_iteration(t, i);
	}
	return rc;
}

static void
run_side(struct link *l)
{
	char memory[96] = "";
	struct tally t = { .link = l, .memory.gpu = -1 };
	int rc = link_open(l);

	l->result = EXIT_FINDING;
	if (rc)
		return;
	rc = agree(&t, memory);
	if (!rc) {
		print_head(&t, memory);
		rc = iterate(&t);
	}
	if (!rc)
		rc = compare(&t);
	if (!rc && !l->run->program->text)
		print_average(&t);
	if (!rc && t.wrong)
		fprintf(l->out, "[%s] FAILED: %" PRIu64 " wrong bytes\n", l->run->program->tag, t.wrong);
	else if (!rc)
		fprintf(l->out, "[%s] %s\n", l->run->program->tag,
			t.copied ? "PASSED: every byte compared" : "done, not compared");
	memory_close(l, &t.memory);
	link_close(l);
	l->result = rc || t.wrong ? EXIT_FINDING : 0;
}

static void *
run_thread(void *arg)
{
	run_side(arg);
	return NULL;
}

/* The pattern's %g is the GPU. */
static FILE *
open_log(const char *pattern, unsigned gpu)
{
	const char *at = strstr(pattern, "%g");
	char path[4096];

	if (at)
		snprintf(path, sizeof(path), "%.*s%u%s", (int)(at - pattern), pattern, gpu, at + 2);
	else
		snprintf(path, sizeof(path), "%s", pattern);
	return fopen(path, "ae");
}

const char *
env_of_process(void *arg, const char *name)
{
	return getenv(name);
}

int
run_main(const struct program *program, int argc, char **argv)
{
	struct link link[GPUS_MAX];
	pthread_t thread[GPUS_MAX];
	struct run run;
	size_t started = 0;
	int result = 0, rc = run_parse(program, argc, argv, env_of_process, NULL, &run);

	if (rc)
		return rc < 0 ? 0 : rc;
	/* what a plugin must find in the environment; a user's own values win */
	(void)setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 0);
	(void)setenv("NCCL_GPUDIRECTTCPX_SPINWAIT_CONNECT", "0", 0);
	for (size_t i = 0; i < run.gpus; i++) {
		FILE *out = run.log ? open_log(run.log, run.gpu[i]) : stdout;

		link[i] = (struct link){ .run = &run, .gpu = run.gpu[i], .out = out };
		if (!out) {
			fprintf(stderr, "%s: cannot write %s: %s\n", program->name, run.log,
				strerror(errno));
			result = EXIT_USAGE;
			break;
		}
		if (run.gpus > 1 && pthread_create(&thread[i], NULL, run_thread, &link[i])) {
			fprintf(stderr, "%s: no thread for GPU %u\n", program->name, run.gpu[i]);
			result = EXIT_FINDING;
			break;
		}
		started++;
	}
	if (run.gpus == 1 && started)
		run_side(&link[0]);
	for (size_t i = 0; i < started; i++) {
		if (run.gpus > 1)
			pthread_join(thread[i], NULL);
		if (run.log)
			fclose(link[i].out);
		result = link[i].result ? link[i].result : result;
	}
	return result;
}
