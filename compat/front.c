/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main() of these programs: runs the tool once for each GPU, and passes its output to lines.c.
 * The build sets PROGRAM, the program's name.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "front.h"

extern char **environ;

enum { WORDS = 40 };

/* A command line; @text holds what has to be made. */
struct words {
	char *word[WORDS], text[512];
	size_t n, used;
};

static void
add(struct words *w, const char *word)
{
	if (word)
		w->word[w->n++] = (char *)word;
	w->word[w->n] = NULL;
}

static void
add_two(struct words *w, const char *option, const char *value)
{
	add(w, value ? option : NULL);
	add(w, value);
}

/* An option, or none, and a word that ends with a number: "cuda:3". */
static void
add_made(struct words *w, const char *option, const char *head, uint64_t number)
{
	char *at = w->text + w->used;

	w->used += (size_t)snprintf(at, sizeof(w->text) - w->used, "%s%llu", head,
				    (unsigned long long)number) + 1;
	add(w, option);
	add(w, at);
}

static void
make_words(const struct run *r, unsigned gpu, const char *tool, struct words *w)
{
	uint64_t port = r->port + (r->program->by_gpu ? gpu : 0);
	bool v6 = r->ip && strchr(r->ip, ':');
	char host[264];

	add(w, tool);
	add(w, r->ip ? "perf" : "serve");
	if (r->ip) {
		snprintf(host, sizeof(host), v6 ? "[%.255s]:" : "%.255s:", r->ip);
		add_made(w, NULL, host, port);
	} else {
		add_made(w, "--port", "", port);
		add(w, "--once");
		add_two(w, "--wait", r->value[WAIT]);
	}
	add_two(w, "--label", r->program->name);
	add_two(w, "--events", "-");
	add_two(w, "--provider", getenv("TCPX_PROVIDER") ? NULL : "tcpx");
	add(w, run_is_on(r, ANY) ? "--any" : NULL);
	if (!run_is_on(r, HOST_RECV))
		add_made(w, "--mem", "cuda:", gpu);
	add_two(w, "--channels", r->value[CHANNELS]);
	add_two(w, "--chunk", r->value[CHUNK]);
	add_two(w, "--window", r->value[WINDOW]);
	add_two(w, "--nics", r->value[IFACES]);
	if (!r->ip)
		return;
	add_two(w, "--op", "sendrecv");
	add(w, "--each");
	add_made(w, "--begin", "", r->size);
	add_made(w, "--iters", "", r->iters);
	add_two(w, "--warmup", r->program->text || run_is_on(r, SKIP_WARMUP) ? "0" : "1");
	add_two(w, "--text", r->program->text);
	add_two(w, "--timeout", r->value[TIMEOUT]);
}

/* Sets variables for the tool. Options win, then the variables that the user has set. */
static void
set_variables(const struct run *r)
{
	const char *level = getenv("NCCL_DEBUG");

	/* what NCCL's variable names is a wish, an option is not */
	if (r->chosen[CTRL])
		(void)setenv("TCPX_CTRL", r->value[CTRL], 1);
	if (r->value[IMPL])
		(void)setenv("TCPX_UNPACK_IMPL", r->value[IMPL], 1);
	/* whatever its size, a payload takes the channels that are to be tested */
	(void)setenv("TCPX_INLINE", "0", 0);
	/* the log's level decides whether the plugin's lines appear */
	if (level && (!strcmp(level, "INFO") || !strcmp(level, "TRACE")) &&
	    !getenv("UCCL_TCPX_DEBUG"))
		(void)setenv("TCPX_DEBUG", level, 0);
}

/* ---- with --verbose --------------------------------------------------------------- */

static void
print_variables(void)
{
	static const char *const ways[] = { "TX", "RX" };
	char name[2][48];

	for (char **v = environ; *v; v++)
		if (!strncmp(*v, "NCCL_", 5) || !strncmp(*v, "TCPX_", 5) ||
		    !strncmp(*v, "UCCL_", 5) || !strncmp(*v, "CUDA_VISIBLE", 12))
			printf("[ENV] %s\n", *v);
	for (int i = 0; i < 2; i++) {
		const char *text = NULL;

		snprintf(name[0], sizeof(name[0]), "TCPX_%s_BINDINGS", ways[i]);
		snprintf(name[1], sizeof(name[1]), "NCCL_GPUDIRECTTCPX_%s_BINDINGS", ways[i]);
		for (int k = 0; k < 2 && !text; k++)
			text = getenv(name[k]);
		printf("[ENV] %s bindings: %s\n", ways[i], text ? text : "none");
	}
}

/* Runs `tcpx irq VERB A B`. Prints its output, each line with a tag; nothing if @quiet. */
static void
run_irq(const char *tool, const char *verb, const char *a, const char *b, bool quiet)
{
	char *argv[] = { (char *)tool, (char *)"irq", (char *)verb, (char *)a, (char *)b, NULL };
	char line[1024];
	int fd;
	pid_t pid = child_start(argv, &fd);
	FILE *f = pid > 0 ? fdopen(fd, "r") : NULL;

	while (f && fgets(line, sizeof(line), f))
		if (!quiet)
			printf("[IRQ] %s", line);
	if (f)
		fclose(f);
	if (pid > 0)
		child_end(pid);
}

/* ---- all sides ---------------------------------------------------------------------- */

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

static bool
open_side(struct side *s, const char *tool)
{
	const struct run *r = s->run;
	struct words w = { .n = 0 };

	s->out = r->value[LOG] ? open_log(r->value[LOG], s->gpu) : stdout;
	if (!s->out) {
		fprintf(stderr, "%s: cannot write %s: %s\n", r->program->name, r->value[LOG],
			strerror(errno));
		return false;
	}
	setvbuf(s->out, NULL, _IOLBF, 0);
	make_words(r, s->gpu, tool, &w);
	if (r->ip)
		fprintf(s->out, "[Bootstrap] Connecting to %s\n", w.text);
	s->pid = child_start(w.word, &s->fd);
	if (s->pid < 0)
		fprintf(stderr, "%s: cannot start %s: %s\n", r->program->name, tool, strerror(errno));
	return s->pid > 0;
}

/* Reads the output that has arrived and passes on each whole line. False: its end. */
static bool
read_side(struct side *s)
{
	char *end, *at;
	ssize_t n;

	if (s->cap - s->len < 4096) {
		s->cap += 1 << 16;
		s->line = realloc(s->line, s->cap);
		if (!s->line)
			abort();
	}
	n = read(s->fd, s->line + s->len, s->cap - s->len - 1);
	if (n <= 0)
		return n < 0 && errno == EINTR;
	s->len += (size_t)n;
	s->line[s->len] = '\0';
	for (at = s->line; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		side_line(s, at);
	}
	s->len -= (size_t)(at - s->line);
	memmove(s->line, at, s->len + 1);
	return true;
}

static void
read_all(struct side *side, size_t n)
{
	struct pollfd p[GPUS_MAX];
	size_t left = n;

	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = side[i].fd, .events = POLLIN };
	while (left && (poll(p, n, -1) > 0 || errno == EINTR))
		for (size_t i = 0; i < n; i++)
			if (p[i].fd >= 0 && p[i].revents && !read_side(&side[i])) {
				close(p[i].fd);
				p[i].fd = -1;
				left--;
			}
}

/* Runs the tool for all GPUs at once. Returns the last exit code that is not 0. */
static int
run_all(const struct run *r, const char *tool)
{
	struct side side[GPUS_MAX] = { 0 };
	size_t n = 0;
	int result = 0, code;

	for (; n < r->gpus; n++) {
		side[n] = (struct side){ .run = r, .gpu = r->gpu[n] };
		if (!open_side(&side[n], tool)) {
			result = EXIT_USAGE;
			break;
		}
	}
	if (n < r->gpus)
		for (size_t i = 0; i < n; i++)
			kill(side[i].pid, SIGTERM);
	read_all(side, n);
	for (size_t i = 0; i < n; i++) {
		code = child_end(side[i].pid);
		side_end(&side[i], code);
		result = result ? result : code; /* the first cause */
		free(side[i].line);
		if (side[i].out != stdout)
			fclose(side[i].out);
	}
	return result;
}

static int
print_words(const struct run *r, const char *tool)
{
	for (size_t i = 0; i < r->gpus; i++) {
		struct words w = { .n = 0 };

		make_words(r, r->gpu[i], tool, &w);
		for (size_t k = 0; k < w.n; k++)
			printf(strchr(w.word[k], ' ') ? "'%s'%s" : "%s%s", w.word[k],
			       k + 1 < w.n ? " " : "\n");
	}
	return 0;
}

int
main(int argc, char **argv)
{
	char path[PATH_MAX], irqs[] = "/tmp/tcpx-irqs-XXXXXX";
	const char *tool = find_tool(path);
	struct run run;
	int fd, rc = run_parse(program_find(PROGRAM), argc, argv, &run);
	bool verbose;

	if (rc)
		return rc < 0 ? 0 : rc;
	verbose = run_is_on(&run, VERBOSE);
	if (run_is_on(&run, DRY_RUN))
		return print_words(&run, "tcpx");
	set_variables(&run);
	fd = verbose ? mkstemp(irqs) : -1;
	if (verbose)
		print_variables();
	if (fd >= 0)
		run_irq(tool, "snapshot", "-o", irqs, true);
	rc = run_all(&run, tool);
	if (fd >= 0) {
		run_irq(tool, "diff", irqs, "live", false);
		close(fd);
		unlink(irqs);
	}
	return rc;
}
