/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings: the strict reader accepts no more than the lint's, and what is
 * written reads back. */
#include "fuzz.h"
#include "host/bindings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

FUZZ_QUIETLY

static void
read_back(const struct tcpx_bindings *b)
{
	struct tcpx_bindings again;
	char *text;

	if (tcpx_bindings_format(b, &text))
		return; /* too many ranges */
	promise(tcpx_bindings_parse(text, "own", &again) == 0);
	promise(again.count == b->count);
	for (unsigned i = 0; i < b->count; i++) {
		const struct tcpx_cpuset *set = tcpx_bindings_of(&again, b->entry[i].name);

		promise(set && tcpx_cpuset_equal(set, &b->entry[i].cpus));
	}
	tcpx_bindings_fini(&again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct tcpx_binding_problems problems;
	struct tcpx_bindings b;
	char *text = malloc(len + 1);
	unsigned errors = 0;
	int rc;

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	promise(tcpx_bindings_scan(text, &b, &problems) == 0);
	for (unsigned i = 0; i < problems.count; i++)
		errors += problems.at[i].kind < TCPX_BINDING_ERRORS;
	read_back(&b);
	tcpx_bindings_fini(&b);
	rc = tcpx_bindings_parse(text, "text", &b);
	promise(rc == 0 || rc == -EINVAL);
	promise(rc || !errors);
	if (rc == 0)
		tcpx_bindings_fini(&b);
	free(text);
	return 0;
}
