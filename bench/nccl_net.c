/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What messages cost over two net plugins of NCCL's, without NCCL and without a GPU: the
 * sockets plugin beside ours, say. Both have two processes, which stay; they play in turn, so that
 * a ratio is of two neighbours in time. The first round is compared byte by byte.
 * Usage: nccl_net [-r ROUNDS] [-c CHANNELS] [-s SECONDS] [-n NETNS,NETNS] PLUGIN SOCKETS [PATTERN BYTES]...
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nccl_pattern.h"

enum { VERSION = 11, ROUNDS_MAX = 200 };

struct answer {
	double us, cpu_us;
	uint64_t wrong;
};

struct side {
	pid_t pid[2];
	int link[2];    /* to each process                                                 */
};

static struct {
	unsigned rounds, channels;
	double seconds; /* that a round of a side lasts, about                              */
	const char *netns[2];
} options = { .rounds = 9, .seconds = 0.25 };

static const struct {
	const char *name;
	enum pattern_kind kind;
} kinds[] = {
	{ "exchange", PATTERN_EXCHANGE }, { "pingpong", PATTERN_PINGPONG },
	{ "stream", PATTERN_STREAM },     { "send", PATTERN_SEND },
	{ "allreduce", PATTERN_RING },
};

static void __attribute__((noreturn))
die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- a process of a side --------------------------------------------------------- */

/* Each process has its half of the CPUs, and its engine's threads with it. */
static void
bind_half(int me)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), half = cpus / 2;
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = 0; i < half; i++)
		CPU_SET(me * half + i, &set);
	if (half && sched_setaffinity(0, sizeof(set), &set))
		die("CPUs");
}

/* With the /sys of its NICs. */
static void
enter(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) || unshare(CLONE_NEWNS) ||
	    mount("", "/", NULL, MS_SLAVE | MS_REC, NULL) || umount2("/sys", MNT_DETACH) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL))
		die(path);
	close(fd);
}

static void __attribute__((noreturn))
serve(struct rank *r, const char *file, int orders)
{
	struct pattern p;
	struct answer a;
	struct board b;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (options.netns[r->me])
		enter(options.netns[r->me]);
	bind_half(r->me);
	player_open(&r->player, file, VERSION);
	board_open(&b, r, options.channels);
	while (recv(orders, &p, sizeof(p), MSG_WAITALL) == sizeof(p) && p.kind != PATTERN_END) {
		board_play(&b, &p, &a.us, &a.cpu_us);
		a.wrong = b.wrong;
		if (send(orders, &a, sizeof(a), MSG_NOSIGNAL) != sizeof(a))
			break;
	}
	board_close(&b);
	_Exit(0);
}

static void
side_start(struct side *s, const char *file)
{
	int both[2], link[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both))
		die("socketpair");
	for (int me = 0; me < 2; me++) {
		struct rank r = { .me = me, .link = both[me] };

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link))
			die("socketpair");
		s->pid[me] = fork();
		if (s->pid[me] == 0)
			serve(&r, file, link[1]);
		s->link[me] = link[0];
		close(link[1]);
	}
	close(both[0]);
	close(both[1]);
}

/* Both processes' time is the slower one's, their CPU the sum. */
static struct answer
side_play(struct side *s, const struct pattern *p)
{
	struct answer a[2];

	for (int me = 0; me < 2; me++)
		if (send(s->link[me], p, sizeof(*p), MSG_NOSIGNAL) != sizeof(*p))
			die("a process");
	for (int me = 0; me < 2; me++)
		if (recv(s->link[me], &a[me], sizeof(a[me]), MSG_WAITALL) != sizeof(a[me]))
			die("a process");
	a[0].us = a[0].us > a[1].us ? a[0].us : a[1].us;
	a[0].us /= p->count;
	a[0].cpu_us = (a[0].cpu_us + a[1].cpu_us) / p->count;
	a[0].wrong += a[1].wrong;
	return a[0];
}

static void
side_stop(struct side *s)
{
	struct pattern end = { .kind = PATTERN_END };

	for (int me = 0; me < 2; me++)
		(void)send(s->link[me], &end, sizeof(end), MSG_NOSIGNAL);
	for (int me = 0; me < 2; me++)
		(void)waitpid(s->pid[me], NULL, 0);
}

/* ---- a row ----------------------------------------------------------------------- */

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *x, unsigned n)
{
	qsort(x, n, sizeof(*x), compare);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* The rank from either end that holds the median with 95 % or more, by the sign test. */
static unsigned
rank_of_interval(unsigned n)
{
	double p = 1, sum;
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++)
		p /= 2;
	for (sum = p; sum <= 0.025 && k < n / 2; sum += p) {
		k++;
		p = p * (n - k + 1) / k;
	}
	return k ? k - 1 : 0;
}

/* As many operations as last for the seconds asked for, by one of the slower side. */
static unsigned
count_for(const struct answer *a, const struct answer *b)
{
	double us = a->us > b->us ? a->us : b->us, count = options.seconds * 1e6 / us;

	return count < 1 ? 1 : count > 100000 ? 100000 : (unsigned)count;
}

static void
print_row(const struct pattern *p, const char *name, struct answer (*a)[ROUNDS_MAX])
{
	double x[6][ROUNDS_MAX];
	unsigned n = options.rounds, k = rank_of_interval(n);

	for (unsigned i = 0; i < n; i++) {
		x[0][i] = a[0][i].us;
		x[1][i] = a[1][i].us;
		x[2][i] = a[1][i].us / a[0][i].us;
		x[3][i] = a[0][i].cpu_us;
		x[4][i] = a[1][i].cpu_us;
		x[5][i] = a[0][i].cpu_us / a[1][i].cpu_us;
	}
	for (int i = 0; i < 6; i++)
		(void)median(x[i], n);
	printf("| %s | %zu | %.1f | %.1f | %.2f (%.2f to %.2f) | %.1f | %.1f | %.2f (%.2f to %.2f) |\n",
	       name, p->bytes, median(x[0], n), median(x[1], n), median(x[2], n), x[2][k],
	       x[2][n - 1 - k], median(x[3], n), median(x[4], n), median(x[5], n), x[5][k],
	       x[5][n - 1 - k]);
	fflush(stdout);
}

/* False: wrong bytes. */
static bool
play_row(struct side *s, struct pattern p, const char *name)
{
	static struct answer a[2][ROUNDS_MAX];
	bool good;

	p.count = p.bytes < 1 << 20 ? 20 : 1;
	p.checks = true;
	for (int i = 0; i < 2; i++)
		a[i][0] = side_play(&s[i], &p);
	good = !a[0][0].wrong && !a[1][0].wrong;
	if (!good)
		printf("%s of %zu bytes: %llu and %llu messages are wrong\n", name, p.bytes,
		       (unsigned long long)a[0][0].wrong, (unsigned long long)a[1][0].wrong);
	p.checks = false;
	for (int i = 0; i < 2; i++)
		a[i][0] = side_play(&s[i], &p);
	p.count = count_for(&a[0][0], &a[1][0]);
	for (unsigned round = 0; round < options.rounds; round++)
		for (unsigned i = 0; i < 2; i++) /* the first of a pair alternates */
			a[(round + i) % 2][round] = side_play(&s[(round + i) % 2], &p);
	print_row(&p, name, a);
	return good;
}

static const struct {
	const char *name;
	size_t bytes;
} usual[] = {
	{ "exchange", 8 },            { "exchange", 4096 },          { "exchange", 65536 },
	{ "pingpong", 8 },            { "pingpong", 4096 },          { "pingpong", 65536 },
	{ "stream", 8 },              { "stream", 4096 },            { "stream", 65536 },
	{ "stream", 131072 },         { "stream", 524288 },          { "stream", 1 << 20 },
	{ "send", 1 << 20 },          { "send", 64 << 20 },          { "allreduce", 65536 },
	{ "allreduce", 1 << 20 },     { "allreduce", 4 << 20 },      { "allreduce", 64 << 20 },
};

static bool
play_named(struct side *s, const char *name, size_t bytes)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name, kinds[i].name))
			return play_row(s, (struct pattern){ .kind = kinds[i].kind, .bytes = bytes },
					name);
	fprintf(stderr, "no pattern '%s'\n", name);
	return false;
}

static void
read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "r:c:s:n:")) != -1) {
		if (c == 'r')
			options.rounds = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'c')
			options.channels = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 's')
			options.seconds = strtod(optarg, NULL);
		else if (c == 'n') {
			options.netns[0] = strtok(optarg, ",");
			options.netns[1] = strtok(NULL, ",");
		} else {
			exit(2);
		}
	}
	if (options.rounds < 1 || options.rounds > ROUNDS_MAX || argc - optind < 2 ||
	    (argc - optind) % 2)
		exit(2);
}

int
main(int argc, char **argv)
{
	struct side side[2];
	bool good = true;

	read_options(argc, argv);
	if (!options.netns[0])
		setenv("NCCL_SOCKET_IFNAME", "lo", 0);
	argv += optind;
	for (int i = 0; i < 2; i++)
		side_start(&side[i], argv[i]);
	printf("| pattern | bytes | us | sockets, us | sockets / ours | CPU us | sockets' | CPU, ours / sockets |\n"
	       "|---|---:|---:|---:|---:|---:|---:|---:|\n");
	for (int i = 2; argv[i]; i += 2)
		good &= play_named(side, argv[i], strtoull(argv[i + 1], NULL, 0));
	for (size_t i = 0; !argv[2] && i < sizeof(usual) / sizeof(usual[0]); i++)
		good &= play_named(side, usual[i].name, usual[i].bytes);
	for (int i = 0; i < 2; i++)
		side_stop(&side[i]);
	return good ? 0 : 1;
}
