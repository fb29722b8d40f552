/* SPDX-License-Identifier: Apache-2.0 */
/* Talking to an irqbalance that a child process plays, by the protocol of 1.9. */
#include "affinity_bed.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tune/irq/balancer.h"

struct actor {
	char dir[64], path[128];
	pid_t pid;
	int listener;
};

/* Answers until it is killed. It takes @room bytes of list and forgets the rest. */
static void
play(int listener, size_t room)
{
	char list[1024] = "17", request[1024], answer[4096];
	int one = 1;

	for (;;) {
		int fd = accept(listener, NULL, NULL);
		struct iovec iov = { request, sizeof(request) - 1 };
		char control[CMSG_SPACE(sizeof(struct ucred))];
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
				      .msg_controllen = sizeof(control) };
		struct cmsghdr *c;
		ssize_t n;

		if (fd < 0)
			_exit(1);
		setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
		n = recvmsg(fd, &msg, 0);
		request[n > 0 ? n : 0] = '\0';
		c = CMSG_FIRSTHDR(&msg);
		if (!c || c->cmsg_type != SCM_CREDENTIALS) {
			close(fd);
			continue;
		}
		if (!strncmp(request, "settings ban irqs ", 18)) {
			request[18 + room] = '\0';
			snprintf(list, sizeof(list), "%s",
				 strcmp(request + 18, "NONE") ? request + 18 : "");
		} else if (!strcmp(request, "setup")) {
			char *save, *at = strtok_r(list, " ", &save);
			char again[1024] = "";
			int len = snprintf(answer, sizeof(answer), "SLEEP 10 ");

			for (; at; at = strtok_r(NULL, " ", &save)) {
				len += snprintf(answer + len, sizeof(answer) - (size_t)len,
						"IRQ %s LOAD 0 DIFF 0 CLASS 4 ", at);
				strcat(strcat(again, *again ? " " : ""), at);
			}
			strcpy(list, again);
			len += snprintf(answer + len, sizeof(answer) - (size_t)len,
					"BANNED 00000000,00000000");
			(void)!write(fd, answer, (size_t)len);
		}
		close(fd);
	}
}

static struct actor
start_actor(unsigned pid, size_t room)
{
	struct actor a = { .dir = "/tmp/tcpx-balancer-XXXXXX" };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int one = 1;

	assert_non_null(mkdtemp(a.dir));
	snprintf(a.path, sizeof(a.path), "%s/irqbalance%u.sock", a.dir, pid);
	strcpy(addr.sun_path, a.path);
	a.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	setsockopt(a.listener, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	assert_int_equal(bind(a.listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(a.listener, 8), 0);
	a.pid = fork();
	assert_true(a.pid >= 0);
	if (a.pid == 0)
		play(a.listener, room);
	return a;
}

static void
stop_actor(struct actor *a)
{
	kill(a->pid, SIGKILL);
	waitpid(a->pid, NULL, 0);
	close(a->listener);
	unlink(a->path);
	rmdir(a->dir);
}

TEST_WITH(its_list_is_merged_and_put_back, bed_make, bed_remove)
{
	struct bed *b = *state;
	struct actor a = start_actor(812, 900);
	char bans[TCPX_JOURNAL_BANS];

	b->sim->balancer = 812;
	b->opts.ban = true;
	b->opts.balancer = a.dir;
	assert_int_equal(bed_apply(b), 0);
	assert_true(bed_is_new(b));
	assert_int_equal(tcpx_balancer_get(a.dir, 812, bans), 0);
	assert_string_equal(bans, "17 30 31 32 33 34");
	assert_int_equal(bed_restore(b), 0);
	assert_int_equal(b->outcome, TCPX_AFF_DONE);
	assert_int_equal(tcpx_balancer_get(a.dir, 812, bans), 0);
	assert_string_equal(bans, "17");

	/* A rollback puts it back, too. */
	bed_reset(b);
	b->sim->balancer = 812;
	b->opts.ban = true;
	b->opts.balancer = a.dir;
	b->sim->fail_at = 3;
	b->sim->fail_errno = ERANGE;
	assert_int_equal(bed_apply(b), -ERANGE);
	assert_int_equal(b->outcome, TCPX_AFF_ROLLED_BACK);
	assert_int_equal(tcpx_balancer_get(a.dir, 812, bans), 0);
	assert_string_equal(bans, "17");
	stop_actor(&a);
}

TEST_WITH(one_that_takes_too_little_is_a_reason_not_to_begin, bed_make, bed_remove)
{
	struct bed *b = *state;
	struct actor a = start_actor(812, 8);
	char bans[TCPX_JOURNAL_BANS];

	b->sim->balancer = 812;
	b->opts.ban = true;
	b->opts.balancer = a.dir;
	assert_int_equal(bed_apply(b), -E2BIG);
	assert_int_equal(b->outcome, TCPX_AFF_DENIED);
	assert_int_equal(b->sim->writes, 0);
	assert_true(bed_is_old(b));
	assert_int_equal(tcpx_balancer_get(a.dir, 812, bans), 0);
	assert_string_equal(bans, "17");
	stop_actor(&a);
}

TEST_WITH(one_without_a_socket_is_a_reason_not_to_begin, bed_make, bed_remove)
{
	struct bed *b = *state;

	b->sim->balancer = 812;
	b->opts.ban = true;
	b->opts.balancer = b->dir;
	assert_int_equal(bed_apply(b), -ENOTCONN);
	assert_int_equal(b->outcome, TCPX_AFF_DENIED);
	assert_int_equal(b->sim->writes, 0);
}

TEST(answers_are_read_strictly)
{
	static const struct {
		const char *text;
		int rc;
		const char *bans;
	} rows[] = {
		{ "SLEEP 10 BANNED 0", 0, "" },
		{ "SLEEP 10 IRQ 5 LOAD 0 DIFF 0 CLASS 4 IRQ 7 LOAD 1 DIFF 1 CLASS 0 BANNED 3", 0,
		  "5 7" },
		{ "SLEEP 10 IRQ 5 LOAD 0 IRQ 5 LOAD 0 BANNED 3", 0, "5" },
		{ "", -EPROTO, NULL },
		{ "hello", -EPROTO, NULL },
		{ "SLEEP 10 IRQ x", -EPROTO, NULL },
		{ "SLEEP 10 IRQ 99999999999", -EPROTO, NULL },
		{ "SLEEP 10 IRQ 5;6", -EPROTO, NULL },
	};
	char bans[TCPX_JOURNAL_BANS];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check(rows[i].text, "rc", tcpx_balancer_parse(rows[i].text, bans), rows[i].rc);
		if (rows[i].bans)
			check_text(rows[i].text, bans, rows[i].bans);
	}
}
