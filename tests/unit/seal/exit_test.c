/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that ends while threads of ours seal and shake hands. exit() runs the application's
 * handlers, OpenSSL's among them, beside these threads. Usage: exit_test [TIMES]
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seal_rig.h"

#include "seal/tls.h"
#include "seal/tls_lib.h"

enum application { WITHOUT_OPENSSL, BEFORE_US, AFTER_US, MODES };

static struct tcpx_seal_lib *lib;
static _Atomic unsigned records, handshakes;

static void *
seal_for_ever(void *arg)
{
	const struct tcpx_seal_ops *ops = &tcpx_seal_tls_ops;
	struct ends e = ends_open(ops, lib, "s", "s", NULL);
	uint8_t bytes[TCPX_SEAL_ROOM + 100], plain[100] = { 0 };
	ssize_t n;

	if (shake(&e))
		abort();
	/* an error is right as soon as OpenSSL has gone, a crash never */
	for (;;) {
		n = ops->take(e.opener, plain, sizeof(plain), bytes, sizeof(bytes));
		if (n > 0)
			n = ops->feed(e.acceptor, bytes, (size_t)n, plain, sizeof(plain));
		atomic_fetch_add(&records, 1);
	}
	return NULL;
}

static void *
shake_for_ever(void *arg)
{
	const struct tcpx_seal_ops *ops = &tcpx_seal_tls_ops;
	struct tcpx_seal_psk psk = psk_of("s");
	uint8_t bytes[TCPX_SEAL_ROOM], none[16];
	struct tcpx_seal *a, *b;

	for (;;) {
		struct tcpx_seal *turn[2];
		ssize_t n = 0;

		a = b = NULL;
		if (ops->start(lib, true, &psk, 1, &a) == 0 && ops->start(lib, false, &psk, 1, &b) == 0) {
			turn[0] = a;
			turn[1] = b;
			for (int i = 0; i < 3 && n >= 0; i++) {
				n = ops->take(turn[i % 2], NULL, 0, bytes, sizeof(bytes));
				if (n >= 0)
					n = ops->feed(turn[(i + 1) % 2], bytes, (size_t)n, none, 16);
			}
		}
		ops->end(a);
		ops->end(b);
		atomic_fetch_add(&handshakes, 1);
	}
	return NULL;
}

/* As an application that uses OpenSSL does, whether it says so or not. */
static void
use_openssl(void)
{
	void *ssl = dlopen("libssl.so.3", RTLD_NOW);
	int (*start)(uint64_t options, const void *settings);

	if (!ssl)
		ssl = dlopen("libssl.so.1.1", RTLD_NOW);
	*(void **)&start = ssl ? dlsym(ssl, "OPENSSL_init_ssl") : NULL;
	if (!start || start(0, NULL) != 1)
		abort();
}

/* Ends at a moment that another @turn moves. */
static void
child(enum application mode, unsigned turn)
{
	pthread_t thread;

	if (mode == BEFORE_US)
		use_openssl();
	if (tcpx_tls_lib_open(&lib))
		_exit(77);
	if (mode == AFTER_US)
		use_openssl();
	if (pthread_create(&thread, NULL, seal_for_ever, NULL) ||
	    pthread_create(&thread, NULL, shake_for_ever, NULL))
		abort();
	while (atomic_load(&records) < 1 + turn % 7 * 10 || atomic_load(&handshakes) < 1 + turn % 3)
		;
	exit(0);
}

/* How the child ended: a status of wait(). */
static int
run(enum application mode, unsigned turn)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		child(mode, turn);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

int
main(int argc, char **argv)
{
	static const char *const names[] = { "has no OpenSSL", "used OpenSSL before",
					     "used OpenSSL afterwards" };
	unsigned times = argc > 1 ? (unsigned)atoi(argv[1]) : 50, all = 0;

	if (WEXITSTATUS(run(WITHOUT_OPENSSL, 0)) == 77) {
		printf("1..0 # SKIP no OpenSSL here\n");
		return 0;
	}
	setbuf(stdout, NULL); /* so that a child has nothing to write again */
	printf("1..%d\n", MODES);
	for (int mode = 0; mode < MODES; mode++) {
		unsigned bad = 0;
		int last = 0;

		for (unsigned turn = 0; turn < times; turn++) {
			int status = run((enum application)mode, turn);

			if (status)
				bad++, last = status;
		}
		printf("%s %d - %u exits of an application that %s\n", bad ? "not ok" : "ok", mode + 1,
		       times, names[mode]);
		if (bad)
			printf("# %u ended otherwise, the last with status %#x\n", bad, last);
		all += bad;
	}
	return all ? 1 : 0;
}
