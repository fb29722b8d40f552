/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded queue of lines, and the thread that hands them to the application. */
#include "base/log_relay.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	/* guarded by lock */
	tcpx_log_fn fn;
	void *arg;
	unsigned users;   /* engines                                          */
	pthread_t thread;
	pid_t process;    /* of thread and users: a forked child has neither  */
	bool runs, stop, calling;
	unsigned first, count;
	struct {
		char *text;
		int level;
	} line[RELAY_LINES];
} relay = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.idle = PTHREAD_COND_INITIALIZER,
};

/* Under the lock, which is released for the call. */
static void
deliver_first(void)
{
	char *text = relay.line[relay.first].text;
	int level = relay.line[relay.first].level;
	tcpx_log_fn fn = relay.fn;
	void *arg = relay.arg;

	relay.first = (relay.first + 1) % RELAY_LINES;
	relay.count--;
	relay.calling = true;
	pthread_mutex_unlock(&relay.lock);
	if (fn)
		fn(arg, level, text);
	free(text);
	pthread_mutex_lock(&relay.lock);
	relay.calling = false;
	pthread_cond_broadcast(&relay.idle);
}

static void *
relay_thread(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&relay.lock);
	for (;;) {
		if (relay.count)
			deliver_first();
		else if (relay.stop)
			break;
		else
			pthread_cond_wait(&relay.work, &relay.lock);
	}
	pthread_mutex_unlock(&relay.lock);
	return NULL;
}

/* Under the lock. Begins with every signal blocked: signals belong to the application. Without
 * memory for a thread the lines wait, and the next one tries again. */
static void
start(void)
{
	sigset_t all, old;

	if (relay.runs || !relay.users || !relay.fn)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	relay.stop = false;
	relay.runs = pthread_create(&relay.thread, NULL, relay_thread, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (relay.runs)
		pthread_setname_np(relay.thread, "tcpx-log");
}

/* Under the lock. */
static void
check_process(void)
{
	if (relay.process == getpid())
		return;
	relay.process = getpid();
	relay.users = 0;
	relay.runs = relay.calling = false;
	relay.count = 0; /* the parent delivers them */
}

static bool
is_relay(void)
{
	return relay.runs && pthread_equal(relay.thread, pthread_self());
}

void
tcpx_relay_set(tcpx_log_fn fn, void *arg)
{
	pthread_mutex_lock(&relay.lock);
	check_process();
	while (relay.runs && !is_relay() && (relay.count || relay.calling))
		pthread_cond_wait(&relay.idle, &relay.lock);
	relay.fn = fn;
	relay.arg = arg;
	start();
	pthread_mutex_unlock(&relay.lock);
}

bool
tcpx_relay_put(int level, const char *line)
{
	bool queued = false;

	pthread_mutex_lock(&relay.lock);
	check_process();
	start();
	if ((relay.users || relay.runs) && relay.count < RELAY_LINES) {
		unsigned at = (relay.first + relay.count) % RELAY_LINES;

		relay.line[at].text = strdup(line);
		relay.line[at].level = level;
		queued = relay.line[at].text != NULL;
		relay.count += queued;
		pthread_cond_signal(&relay.work);
	}
	pthread_mutex_unlock(&relay.lock);
	return queued;
}

bool
tcpx_relay_direct(tcpx_log_fn *fn, void **arg)
{
	bool direct;

	pthread_mutex_lock(&relay.lock);
	check_process();
	direct = !relay.users && !relay.runs;
	if (direct) {
		*fn = relay.fn;
		*arg = relay.arg;
	}
	pthread_mutex_unlock(&relay.lock);
	return direct;
}

void
tcpx_relay_hold(void)
{
	pthread_mutex_lock(&relay.lock);
	check_process();
	relay.users++;
	start();
	pthread_mutex_unlock(&relay.lock);
}

/* Under the lock, which is released meanwhile. */
static void
stop(void)
{
	pthread_t thread = relay.thread;

	relay.stop = true;
	pthread_cond_signal(&relay.work);
	pthread_mutex_unlock(&relay.lock);
	pthread_join(thread, NULL);
	pthread_mutex_lock(&relay.lock);
	relay.runs = relay.stop = false;
	start(); /* an engine may have begun meanwhile */
}

void
tcpx_relay_release(void)
{
	pthread_mutex_lock(&relay.lock);
	check_process();
	relay.users -= relay.users > 0;
	if (!relay.users && relay.runs && !relay.stop && !is_relay())
		stop();
	while (!relay.users && !relay.runs && relay.count)
		deliver_first();
	pthread_mutex_unlock(&relay.lock);
}
