/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of TLS for peer.py, which speaks the other end by itself. Usage: seal_pipe ROLE FILES
 *
 *   feed HEX               the code, or plaintext as hex
 *   take HEX               the code, or what goes out as hex; plaintext may be "-"
 *   export LABEL HEX LEN   keying material
 *   proven, text           yes or no; the last error's text
 *   limit RECORDS          under one key
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "seal/secret.h"
#include "seal/tls_lib.h"

static uint8_t out[TCPX_SEAL_BLOCK + TCPX_SEAL_ROOM];

static size_t
from_hex(const char *text, uint8_t *bytes)
{
	size_t n = 0;

	for (unsigned v; sscanf(text + 2 * n, "%2x", &v) == 1; n++)
		bytes[n] = (uint8_t)v;
	return n;
}

static void
answer(ssize_t rc)
{
	if (rc < 0)
		printf("%zd", rc);
	for (ssize_t i = 0; i < rc; i++)
		printf("%02x", out[i]);
	printf("\n");
}

static void
obey(const struct tcpx_secret *secret, struct tcpx_seal *s, const char *verb, const char *word,
     const char *hex, const char *number)
{
	static uint8_t in[65536];
	char text[512];

	if (!strcmp(verb, "feed")) {
		answer(secret->ops->feed(s, in, from_hex(word, in), out, sizeof(out)));
	} else if (!strcmp(verb, "take")) {
		answer(secret->ops->take(s, in, from_hex(word, in), out, sizeof(out)));
	} else if (!strcmp(verb, "export")) {
		size_t len = strtoul(number, NULL, 10), n = from_hex(hex, in);
		int rc = secret->ops->export(s, word, in, n, out, len);

		answer(rc ? rc : (ssize_t)len);
	} else if (!strcmp(verb, "limit")) {
		secret->lib->records_max = strtoul(word, NULL, 10);
		printf("\n");
	} else if (!strcmp(verb, "proven")) {
		printf("%s\n", secret->ops->proven(s) ? "yes" : "no");
	} else {
		tcpx_err_last(text, sizeof(text));
		printf("%s\n", text);
	}
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct tcpx_secret *secret;
	struct tcpx_seal *s;
	static char line[140000];
	bool opener;
	int rc;

	if (argc != 3)
		return 2;
	opener = !strcmp(argv[1], "opener");
	rc = tcpx_secret_open(argv[2], &secret);
	if (rc)
		return 77;
	rc = secret->ops->start(secret->lib, opener, secret->psk, opener ? 1 : secret->count, &s);
	if (rc)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		char *verb = strtok(line, " \n"), *word = strtok(NULL, " \n");
		char *hex = strtok(NULL, " \n"), *number = strtok(NULL, " \n");

		obey(secret, s, verb ? verb : "", word ? word : "", hex ? hex : "",
		     number ? number : "0");
	}
	secret->ops->end(s);
	tcpx_secret_close(secret);
	return 0;
}
