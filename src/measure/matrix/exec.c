/* SPDX-License-Identifier: Apache-2.0 */
/* Signals are waited for, not handled, so only one place reacts to them. */
#include "measure/matrix/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define GRACE_NS 2000000000ull /* between asking to end and killing */

static sigset_t
watched(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	return set;
}

void
matrix_exec_begin(void)
{
	sigset_t set = watched();

	sigprocmask(SIG_BLOCK, &set, NULL);
}

int
matrix_exec_asked(void)
{
	struct timespec now = { 0, 0 };
	sigset_t set = watched();
	int sig;

	sigdelset(&set, SIGCHLD);
	sig = sigtimedwait(&set, NULL, &now);
	return sig > 0 ? sig : 0;
}

/* Becomes the command. Only calls that are allowed after fork(). */
static void
become(const struct matrix_command *c, pid_t parent)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)c->text, NULL };
	int in = open("/dev/null", O_RDONLY), out, err;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	out = open(c->out ? c->out : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	err = open(c->err ? c->err : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(err, 2) < 0)
		_exit(126);
	close_range(3, ~0u, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve("/bin/sh", argv, c->env);
	_exit(127);
}

/* The next signal; nothing after @until. */
static int
wait_signal(uint64_t until)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system), left = until > now ? until - now : 0;
	struct timespec t = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
	sigset_t set = watched();

	return sigtimedwait(&set, NULL, &t);
}

static void
wait_end(const struct matrix_command *c, pid_t pid, struct matrix_ended *ended)
{
	uint64_t begin = tcpx_clock_now(&tcpx_clock_system), until = begin + c->timeout_ms * 1000000;
	bool asked = false;
	struct rusage use;
	int status = 0;
	pid_t got;

	while ((got = wait4(pid, &status, WNOHANG, &use)) == 0) {
		int sig = wait_signal(until);

		if (sig < 0 && errno == EAGAIN && tcpx_clock_now(&tcpx_clock_system) >= until) {
			ended->timed_out |= !ended->signal || c->whole;
			kill(-pid, asked ? SIGKILL : SIGTERM);
			asked = true;
			until = tcpx_clock_now(&tcpx_clock_system) + GRACE_NS;
		} else if (sig > 0 && sig != SIGCHLD && !ended->signal) {
			ended->signal = sig;
			until = c->whole ? until : tcpx_clock_now(&tcpx_clock_system); /* asked to end at once */
		}
	}
	ended->seconds = (double)(tcpx_clock_now(&tcpx_clock_system) - begin) / 1e9;
	if (got != pid)
		return;
	ended->user_s = (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec / 1e6;
	ended->system_s = (double)use.ru_stime.tv_sec + (double)use.ru_stime.tv_usec / 1e6;
	ended->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (c->end_group || asked)
		kill(-pid, SIGKILL); /* processes it left behind */
}

int
matrix_exec(const struct matrix_command *c, struct matrix_ended *ended)
{
	pid_t self = getpid(), pid = fork();

	*ended = (struct matrix_ended){ .code = 127 };
	if (pid < 0)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "start %.80s", c->text);
	if (!pid)
		become(c, self);
	setpgid(pid, pid); /* the child does, too: either may be first */
	wait_end(c, pid, ended);
	return 0;
}
