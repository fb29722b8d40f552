/* SPDX-License-Identifier: Apache-2.0 */
/* The call, and who waits for it: the last of the two frees what they share. */
#include "net/plugin/init.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "net/plugin/result.h"

struct call {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	const struct plug_abi *abi;
	const void *table;
	/* guarded by lock */
	void *ctx;
	enum nccl_result result;
	bool done, left;
	/* the thread's until done */
	char words[PLUG_WORDS];
};

/* Where this thread's init() has its warnings; NULL: it is in none. */
static _Thread_local char *words_of;

void
plug_init_heard(const char *text)
{
	if (words_of)
		snprintf(words_of, PLUG_WORDS, "%s", text);
}

static void
call_free(struct call *c)
{
	pthread_cond_destroy(&c->ended);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void *
run(void *arg)
{
	struct call *c = arg;
	void *ctx = NULL;
	enum nccl_result result;
	bool left;

	words_of = c->words;
	result = c->abi->init(c->table, &ctx, plug_logger, plug_profiler);
	words_of = NULL;
	pthread_mutex_lock(&c->lock);
	c->ctx = ctx;
	c->result = result;
	c->done = true;
	left = c->left;
	pthread_cond_signal(&c->ended);
	pthread_mutex_unlock(&c->lock);
	if (left)
		call_free(c);
	return NULL;
}

/* Its threads and those that the plugin starts begin with every signal blocked. */
static int
begin(struct call *c)
{
	sigset_t all, old;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, run, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		pthread_detach(thread);
	return rc ? -EAGAIN : 0;
}

static struct call *
call_new(const struct plug *p)
{
	struct call *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (!c)
		return NULL;
	c->abi = p->abi;
	c->table = p->table;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->ended, &attr);
	pthread_condattr_destroy(&attr);
	return c;
}

int
plug_init(struct plug *p, uint64_t limit_ns, enum nccl_result *result, char words[PLUG_WORDS])
{
	uint64_t until_ns = tcpx_clock_now(&tcpx_clock_system) + limit_ns;
	struct timespec until = { (time_t)(until_ns / TCPX_SEC), (long)(until_ns % TCPX_SEC) };
	struct call *c = call_new(p);
	int rc = c ? begin(c) : -EAGAIN;
	bool done;

	if (rc) {
		if (c)
			call_free(c);
		return rc;
	}
	pthread_mutex_lock(&c->lock);
	while (!c->done && rc == 0)
		rc = pthread_cond_timedwait(&c->ended, &c->lock, &until);
	done = c->done;
	c->left = !done;
	*result = c->result;
	if (done) {
		p->ctx = c->ctx;
		memcpy(words, c->words, PLUG_WORDS);
	}
	pthread_mutex_unlock(&c->lock);
	if (!done)
		return -ETIMEDOUT;
	call_free(c);
	return 0;
}
