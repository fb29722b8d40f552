/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a measurement, and its three descriptors. */
#include "measure/mesh/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/report/result.h"
#include "tool/tool.h"

enum { WORDS = 48, WORD = 96, RESULT_MAX = 64 << 20 };

struct words {
	char text[WORDS][WORD];
	char *argv[WORDS + 1];
	int n;
};

static void __attribute__((format(printf, 2, 3)))
add(struct words *w, const char *fmt, ...)
{
	va_list ap;

	if (w->n == WORDS)
		return;
	va_start(ap, fmt);
	vsnprintf(w->text[w->n], WORD, fmt, ap);
	va_end(ap);
	w->argv[w->n] = w->text[w->n];
	w->argv[++w->n] = NULL;
}

static void
add_number(struct words *w, const char *option, uint64_t v)
{
	add(w, "%s", option);
	add(w, "%" PRIu64, v);
}

/* Settings of the engine and its NICs are in the environment. */
static void
make_words(struct words *w, const struct perf_args *a, uint64_t beside, int blob, int result,
	   int gate)
{
	char place[PLACE_TEXT];

	w->n = 0;
	add(w, "tcpx");
	add(w, "perf");
	add(w, "--peer-blob");
	add(w, "/dev/fd/%d", blob);
	add(w, "--json");
	add(w, "/dev/fd/%d", result);
	add_number(w, "--gate-fd", (uint64_t)gate);
	add_number(w, "--beside", beside);
	add_number(w, "--begin", a->begin);
	add_number(w, "--end", a->begin);
	add_number(w, "--warmup", a->warmup);
	add_number(w, "--check", a->check);
	add_number(w, "--depth", a->depth);
	add_number(w, "--lanes", a->lanes);
	add_number(w, "--descs", a->descs);
	add_number(w, "--timeout", a->timeout_s);
	if (a->iters)
		add_number(w, "--iters", a->iters);
	else
		add_number(w, "--duration", a->duration_s);
	add(w, "--op");
	add(w, "%s", job_op_names[a->op]);
	add(w, "--dir");
	add(w, "%s", a->bi ? "bi" : "uni");
	add(w, "--mem");
	add(w, "%s", place_format(&a->mem, place));
	if (a->spin)
		add(w, "--spin");
	if (a->spoil)
		add(w, "--spoil");
}

static void
become(struct words *w, int blob, int result, int gate)
{
	int nowhere = open("/dev/null", O_WRONLY);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(nowhere, STDOUT_FILENO);
	fcntl(blob, F_SETFD, 0);
	fcntl(result, F_SETFD, 0);
	fcntl(gate, F_SETFD, 0);
	execv("/proc/self/exe", w->argv);
	_exit(127);
}

int
mesh_child_start(const struct perf_args *a, unsigned peer, uint64_t beside, const void *blob,
		 size_t blob_len, struct mesh_child *c)
{
	int gate[2] = { -1, -1 }, memory, rc = 0;
	struct words *w = malloc(sizeof(*w));

	*c = (struct mesh_child){ .peer = peer, .gate = -1,
				  .result = memfd_create("tcpx-result", MFD_CLOEXEC) };
	memory = memfd_create("tcpx-blob", MFD_CLOEXEC);
	if (!w || memory < 0 || c->result < 0 ||
	    write(memory, blob, blob_len) != (ssize_t)blob_len || lseek(memory, 0, SEEK_SET) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) < 0)
		rc = tcpx_fail_errno(TCPX_SUB_TOOL, "a measurement's files");
	if (!rc) {
		make_words(w, a, beside, memory, c->result, gate[1]);
		fflush(NULL);
		c->pid = fork();
		if (c->pid == 0)
			become(w, memory, c->result, gate[1]);
		if (c->pid < 0)
			rc = tcpx_fail_errno(TCPX_SUB_TOOL, "a measurement's process");
		c->gate = gate[0];
	}
	if (memory >= 0)
		close(memory);
	if (gate[1] >= 0)
		close(gate[1]);
	free(w);
	if (rc) {
		c->pid = 0;
		mesh_child_kill(c);
	}
	return rc;
}

bool
mesh_child_ready(struct mesh_child *c)
{
	ssize_t n;
	char byte;

	if (c->ready || c->failed)
		return true;
	n = recv(c->gate, &byte, 1, MSG_DONTWAIT);
	c->ready = n == 1;
	c->failed = !c->ready && !(n < 0 && (errno == EAGAIN || errno == EINTR));
	return c->ready || c->failed;
}

void
mesh_child_go(struct mesh_child *c)
{
	if (c->ready && send(c->gate, "g", 1, MSG_NOSIGNAL) != 1)
		c->failed = true;
}

static bool
read_result(int fd, struct result *r)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *text = len > 0 && len < RESULT_MAX ? malloc((size_t)len) : NULL;
	bool good = text && pread(fd, text, (size_t)len, 0) == len &&
		    !result_parse(text, (size_t)len, "of a pair", r);

	free(text);
	if (good && !r->rows.n) {
		result_fini(r);
		good = false;
	}
	return good;
}

bool
mesh_child_over(struct mesh_child *c)
{
	if (c->pid > 0 && waitpid(c->pid, NULL, WNOHANG) != 0)
		c->pid = 0;
	return c->pid <= 0;
}

bool
mesh_child_end(struct mesh_child *c, struct result *r)
{
	bool good = mesh_child_over(c) && !c->failed && read_result(c->result, r);

	mesh_child_kill(c);
	return good;
}

void
mesh_child_kill(struct mesh_child *c)
{
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	if (c->gate >= 0)
		close(c->gate);
	if (c->result >= 0)
		close(c->result);
	*c = (struct mesh_child){ .gate = -1, .result = -1 };
}
