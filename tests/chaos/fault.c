/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each fault is known to the judge before it is made, and over only after it was taken back.
 */
#include "chaos/fault.h"

#include <dirent.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "chaos/worker.h"
#include "measure/lab/namespace.h"
#include "tool/tool.h"

/* ---- processes --------------------------------------------------------------------- */

static void __attribute__((noreturn))
be_child(struct chaos_run *r, unsigned h, uint32_t life)
{
	char name[64];
	sigset_t none;
	int ns = lab_ns_open(lab_ns_name(r->lab.name, (int)h, name, sizeof(name)));
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0); /* a terminal's ^C is for the parent, which ends all in order */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	rc = ns < 0 ? ns : lab_ns_enter(ns);
	if (ns >= 0)
		close(ns);
	rc = rc ? rc : lab_ns_remount_sys();
	if (rc) {
		snprintf(r->area->host[h].why, sizeof(r->area->host[h].why), "namespace %s: %s",
			 name, strerror(-rc));
		exit(TOOL_DENIED);
	}
	exit(chaos_worker(r->area, h, life));
}

int
chaos_child_start(struct chaos_run *r, unsigned h)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system);
	struct chaos_host *own = &r->area->host[h];
	struct chaos_child *c = &r->child[h];
	uint32_t life = atomic_load(&own->life) + 1;

	atomic_store(&own->life, life);
	atomic_store(&own->leave, false);
	atomic_store(&own->calm, false);
	for (unsigned b = 0; b < r->processes; b++)
		atomic_store(&own->down_ns[b], now);
	for (unsigned i = 0; i < CHAOS_JOBS; i++)
		atomic_store(&own->pending[i].since_ns, 0);
	c->gone_ns[life % CHAOS_LIVES] = 0;
	c->leave_ns = 0;
	if (c->starting < 0)
		c->starting = chaos_judge_begin(&r->judge, CHAOS_KILL, h, 0, now);
	fflush(NULL);
	c->pid = fork();
	if (c->pid == 0)
		be_child(r, h, life);
	if (c->pid > 0)
		return 0;
	c->pid = 0;
	return tool_fail(-errno, CHAOS_COMMAND, "fork: %s", strerror(errno));
}

static void
child_gone(struct chaos_run *r, unsigned h)
{
	uint32_t life = atomic_load(&r->area->host[h].life);

	r->child[h].gone_ns[life % CHAOS_LIVES] = tcpx_clock_now(&tcpx_clock_system);
}

/* A copy of each connection is disconnected, which resets it. */
static void
reset_connections(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	const struct dirent *d;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (pidfd >= 0 && dir && (d = readdir(dir))) {
		struct sockaddr_storage other;
		socklen_t len = sizeof(other), size = sizeof(int);
		int fd, type = 0;

		if (d->d_name[0] == '.')
			continue;
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(d->d_name), 0);
		if (fd < 0)
			continue;
		if (!getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_STREAM &&
		    !getpeername(fd, (struct sockaddr *)&other, &len) &&
		    (other.ss_family == AF_INET || other.ss_family == AF_INET6))
			connect(fd, &nobody, sizeof(nobody));
		close(fd);
	}
	if (dir)
		closedir(dir);
	if (pidfd >= 0)
		close(pidfd);
}

/* ---- NICs -------------------------------------------------------------------------- */

static void
ask(struct chaos_run *r, unsigned h, struct tcpx_nl *m, const char *what)
{
	char why[128];
	int rc = lab_ns_ask(r->child[h].netlink, m, why, sizeof(why));

	if (rc)
		tool_fail(0, CHAOS_COMMAND, "%s of host h%u: %s %s", what, h, strerror(-rc), why);
}

static void
set_link(struct chaos_run *r, unsigned h, unsigned nic, bool up)
{
	struct tcpx_nl m;

	lab_nl_link_up(&m, lab_nic_index(nic), 0);
	if (!up)
		((struct ifinfomsg *)NLMSG_DATA(&m.hdr))->ifi_flags = 0;
	ask(r, h, &m, up ? "link up" : "link down");
}

static void
set_address(struct chaos_run *r, unsigned h, unsigned nic, bool there)
{
	struct tcpx_nl m;

	lab_nl_addr(&m, lab_nic_index(nic), lab_addr(h, nic), 24);
	if (!there) {
		m.hdr.nlmsg_type = RTM_DELADDR;
		m.hdr.nlmsg_flags &= (uint16_t)~(NLM_F_CREATE | NLM_F_EXCL);
	}
	ask(r, h, &m, there ? "address" : "removal of an address");
}

static void
set_rate(struct chaos_run *r, unsigned h, unsigned nic, uint64_t rate_bps)
{
	struct lab_nl_tbf tbf = lab_nl_tbf_for(rate_bps);
	struct tcpx_nl m;

	lab_nl_tbf(&m, lab_nic_index(nic), &tbf);
	m.hdr.nlmsg_flags ^= NLM_F_EXCL | NLM_F_REPLACE;
	ask(r, h, &m, "rate");
}

static void
make(struct chaos_run *r, const struct chaos_event *e)
{
	struct chaos_child *c = &r->child[e->host];

	switch (e->fault) {
	case CHAOS_LINK:
		set_link(r, e->host, e->nic, false);
		break;
	case CHAOS_ADDRESS:
		set_address(r, e->host, e->nic, false);
		break;
	case CHAOS_RATE:
		set_rate(r, e->host, e->nic, e->rate_bps);
		break;
	case CHAOS_ALL_NICS:
		for (unsigned k = 0; k < r->nics; k++)
			set_link(r, e->host, k, false);
		break;
	case CHAOS_RESET:
		reset_connections(c->pid);
		break;
	case CHAOS_FREEZE:
		kill(c->pid, SIGSTOP);
		break;
	case CHAOS_KILL:
		child_gone(r, e->host);
		kill(c->pid, SIGKILL);
		break;
	default:
		child_gone(r, e->host);
		c->leave_ns = tcpx_clock_now(&tcpx_clock_system);
		atomic_store(&r->area->host[e->host].leave, true);
	}
}

bool
chaos_fault_begin(struct chaos_run *r, const struct chaos_event *e, uint64_t now)
{
	struct chaos_child *c = &r->child[e->host];

	if (c->faulty || c->starting >= 0 || !c->pid || c->leave_ns)
		return false;
	c->event = *e;
	c->until_ns = now + e->for_ns;
	c->faulty = true;
	c->window = chaos_judge_begin(&r->judge, e->fault, e->host, e->nic,
				      tcpx_clock_now(&tcpx_clock_system));
	make(r, e);
	r->faults[e->fault]++;
	return true;
}

void
chaos_fault_end(struct chaos_run *r, unsigned h)
{
	struct chaos_child *c = &r->child[h];
	const struct chaos_event *e = &c->event;

	switch (e->fault) {
	case CHAOS_LINK:
		set_link(r, h, e->nic, true);
		break;
	case CHAOS_ADDRESS:
		set_address(r, h, e->nic, true);
		break;
	case CHAOS_RATE:
		set_rate(r, h, e->nic, r->rate_bps);
		break;
	case CHAOS_ALL_NICS:
		for (unsigned k = 0; k < r->nics; k++)
			set_link(r, h, k, true);
		break;
	case CHAOS_FREEZE:
		if (c->pid)
			kill(c->pid, SIGCONT);
		break;
	case CHAOS_KILL:
	case CHAOS_RESTART:
		if (c->pid)
			return; /* it closes still */
		chaos_child_start(r, h);
		break;
	default:
		break;
	}
	chaos_judge_end(&r->judge, c->window, tcpx_clock_now(&tcpx_clock_system));
	c->faulty = false;
}
