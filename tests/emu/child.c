/* SPDX-License-Identifier: Apache-2.0 */
/* Children with an environment of their own, their output, and memory for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/client.h"

/* ---- children ------------------------------------------------------------------------------ */

static void
environment(const char *env)
{
	char *copy = strdup(env ? env : ""), *rest = copy, *one;

	setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 1);
	setenv("NCCL_NSOCKS_PERTHREAD", "4", 1);
	while ((one = strsep(&rest, "|"))) {
		char *value = strchr(one, '=');

		if (!value)
			continue;
		*value++ = '\0';
		setenv(one, value, 1);
	}
	free(copy);
}

static bool in_child;

/* What a child holds when it ends is no leak: a name of the sanitizer's. */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return in_child;
}

static _Noreturn void
child(const char *env, int (*body)(void *), void *arg, int text)
{
	const struct rlimit none = { 0, 0 };

	in_child = true;
	setrlimit(RLIMIT_CORE, &none);
	dup2(text, STDERR_FILENO);
	close(text);
	signal(SIGABRT, SIG_DFL);
	signal(SIGPIPE, SIG_IGN); /* which a client of this plugin must: its sends raise it */
	environment(env);
	exit(body(arg)); /* so that a fault that never happened is reported */
}

struct outcome
run_child(const char *env, int (*body)(void *), void *arg)
{
	struct outcome o = { 0 };
	size_t len = 0;
	int text[2];
	pid_t pid;

	assert_int_equal(pipe(text), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(text[0]);
		child(env, body, arg, text[1]);
	}
	close(text[1]);
	for (;;) {
		char spill[4096];
		bool full = len == sizeof(o.text) - 1;
		ssize_t n = read(text[0], full ? spill : o.text + len,
				 full ? sizeof(spill) : sizeof(o.text) - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += full ? 0 : (size_t)n;
	}
	close(text[0]);
	assert_int_equal(waitpid(pid, &o.status, 0), pid);
	return o;
}

bool
said(const struct outcome *o, const char *what)
{
	return strstr(o->text, what) != NULL;
}

static void
expect(const struct outcome *o, bool right, const char *what, const char *env)
{
	if (!right)
		fail_msg("%s expected with %s; status 0x%x, text:\n%s", what, env ? env : "-",
			 (unsigned)o->status, o->text);
}

static unsigned
times(const struct outcome *o, const char *what)
{
	unsigned n = 0;

	for (const char *at = o->text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void
must(const char *env, int (*body)(void *), void *arg, int status, int by_signal, const char *name)
{
	struct outcome o = run_child(env, body, arg);
	unsigned processes = times(&o, "emulator of GPUDirect"); /* one of them has the fault */
	char tag[80];

	snprintf(tag, sizeof(tag), "[%s]", name ? name : "");
	expect(&o, by_signal ? WIFSIGNALED(o.status) && WTERMSIG(o.status) == by_signal
			     : WIFEXITED(o.status) && WEXITSTATUS(o.status) == status,
	       by_signal ? "an abort" : status ? "exit status 1" : "success", env);
	expect(&o, !name || said(&o, tag), tag, env);
	if (!name || strcmp(name, "fault"))
		expect(&o, times(&o, "never happened") < (processes ? processes : 1), "that the fault happens", env);
}

void
must_pass(const char *env, int (*body)(void *), void *arg)
{
	must(env, body, arg, 0, 0, NULL);
}

void
must_say(const char *name, const char *env, int (*body)(void *), void *arg)
{
	must(env, body, arg, 0, 0, name);
}

void
must_abort(const char *name, const char *env, int (*body)(void *), void *arg)
{
	must(env, body, arg, 0, SIGABRT, name);
}

void
must_exit(const char *name, const char *env, int (*body)(void *), void *arg)
{
	must(env, body, arg, 1, 0, name);
}

/* ---- memory -------------------------------------------------------------------------------- */

static struct {
	int (*init)(unsigned);
	int (*retain)(void **, int);
	int (*push)(void *);
	int (*alloc)(uint64_t *, size_t);
	int (*copy)(uint64_t, uint64_t, size_t, void *);
	int (*wait)(void *);
} cuda;

static bool
find(void *library, const char *name, void *slot)
{
	void *address = dlsym(library, name);

	memcpy(slot, &address, sizeof(address));
	return address != NULL;
}

bool
mem_start(void)
{
	const char *name = getenv("TCPX_CUDA_LIBRARY");
	void *library, *context;

	if (!name || !*name)
		return true;
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	return library && find(library, "cuInit", &cuda.init) &&
	       find(library, "cuDevicePrimaryCtxRetain", &cuda.retain) &&
	       find(library, "cuCtxPushCurrent_v2", &cuda.push) &&
	       find(library, "cuMemAlloc_v2", &cuda.alloc) &&
	       find(library, "cuMemcpyAsync", &cuda.copy) &&
	       find(library, "cuStreamSynchronize", &cuda.wait) && cuda.init(0) == 0 &&
	       cuda.retain(&context, 0) == 0 && cuda.push(context) == 0;
}

char *
mem_new(size_t size)
{
	uint64_t ptr = 0;
	void *host = NULL;

	if (!cuda.alloc) {
		CHECK(posix_memalign(&host, 4096, size) == 0);
		return host;
	}
	CHECK(cuda.alloc(&ptr, size) == 0);
	return (char *)(uintptr_t)ptr;
}

void
mem_move(char *dst, const char *src, size_t len)
{
	if (!cuda.copy)
		memcpy(dst, src, len);
	else if (len)
		CHECK(cuda.copy((uintptr_t)dst, (uintptr_t)src, len, NULL) == 0 &&
		      cuda.wait(NULL) == 0);
}

void
mem_put(char *dst, const void *src, size_t len)
{
	mem_move(dst, src, len);
}

void
mem_get(void *dst, const char *src, size_t len)
{
	mem_move(dst, src, len);
}

void
must_name(const char *name, const char *more, int (*body)(void *))
{
	char env[256];

	snprintf(env, sizeof(env), STRICT "%s", more);
	must_abort(name, env, body, NULL);
	snprintf(env, sizeof(env), FAITHFUL "%s", more);
	must_say(name, env, body, NULL);
}
