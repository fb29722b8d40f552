/* SPDX-License-Identifier: Apache-2.0 */
/* Two engines, and points. */
#include "pair.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { WAIT_MS = 30000, SETTINGS = 6 };

static int
complain(struct pair *p, const char *what, int rc)
{
	char text[256] = "";

	tcpx_last_error(p->server, text, sizeof(text));
	printf("[%s] FAILED: %s: %s (%s) %s\n", p->tag, what, tcpx_strerror(rc),
	       tcpx_strerror_name(rc), text);
	p->checked++;
	p->failed++;
	return rc;
}

static int
open_one(const char *name, const char *const *settings, tcpx_engine **engine)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	const char *all[SETTINGS + 3] = { "TCPX_PROVIDER=sock", "TCPX_NARROW=0" };

	for (int i = 0; i < SETTINGS && settings[i]; i++)
		all[i + 2] = settings[i];
	opts.name = name;
	opts.listen = "0";
	opts.settings = all;
	return tcpx_open(&opts, engine);
}

int
pair_open(struct pair *p, const char *const *server, const char *const *client)
{
	int rc = open_one("server", server, &p->server);

	if (rc)
		return complain(p, "the server cannot start", rc);
	rc = open_one("client", client, &p->client);
	return rc ? complain(p, "the client cannot start", rc) : 0;
}

int
pair_meet(struct pair *p)
{
	unsigned char blob[4096];
	size_t len = sizeof(blob);
	int rc = tcpx_metadata(p->server, blob, &len);

	if (!rc)
		rc = tcpx_peer_add(p->client, blob, len, &p->to_server);
	if (!rc)
		rc = tcpx_peer_wait(p->to_server, WAIT_MS);
	if (!rc)
		rc = tcpx_peer_find(p->server, "client", &p->to_client);
	if (!rc)
		rc = tcpx_peer_wait(p->to_client, WAIT_MS);
	return rc ? complain(p, "no session", rc) : 0;
}

void
pair_close(struct pair *p)
{
	if (p->to_server)
		tcpx_peer_free(p->to_server);
	if (p->to_client)
		tcpx_peer_free(p->to_client);
	tcpx_close(p->client);
	tcpx_close(p->server);
	p->server = p->client = NULL;
	p->to_server = p->to_client = NULL;
}

bool
pair_check(struct pair *p, bool good, const char *fmt, ...)
{
	va_list ap;

	printf("[%s] %s: ", p->tag, good ? "ok" : "FAILED");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	p->checked++;
	p->failed += !good;
	return good;
}

int
pair_end(struct pair *p)
{
	pair_close(p);
	if (p->failed)
		printf("[%s] FAILED: %u of %u checks\n", p->tag, p->failed, p->checked);
	else
		printf("[%s] PASSED (%u checks)\n", p->tag, p->checked);
	return p->failed ? EXIT_FINDING : 0;
}

int
pair_args(int argc, char **argv, const char *about)
{
	if (argc == 1)
		return 0;
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		printf("usage: %s\n\n%s\nNICs and more are settings: tcpx info --config.\n", argv[0],
		       about);
		return -1;
	}
	fprintf(stderr, "%s: '%s': it takes no options but --help\n", argv[0], argv[1]);
	return EXIT_USAGE;
}
