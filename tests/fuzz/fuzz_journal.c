/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a journal: refused, or the same when written and read again. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tune/irq/journal.h"

FUZZ_QUIETLY

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char head[] = "tcpx-irq-journal 1\nboot 1\ntime 1\nirq 38 0-1 1 0 ";
	size_t skip = 0;
	char *text = malloc(sizeof(head) + size), *once, *twice, why[128];
	struct tcpx_journal j;
	int rc;

	if (!text)
		return 0;
	/* The first byte says how much of a good beginning stands before the rest, so that
	 * not every input must find it anew. */
	if (size) {
		skip = data[0] % sizeof(head);
		memcpy(text, head, skip);
		memcpy(text + skip, data + 1, size - 1);
		size += skip - 1;
	}
	text[size] = '\0';
	rc = tcpx_journal_parse(text, &j, why, sizeof(why));
	free(text);
	if (rc < 0)
		return 0;
	once = tcpx_journal_format(&j);
	tcpx_journal_fini(&j);
	promise(once && tcpx_journal_parse(once, &j, why, sizeof(why)) == 0);
	twice = tcpx_journal_format(&j);
	tcpx_journal_fini(&j);
	promise(twice && !strcmp(once, twice));
	free(once);
	free(twice);
	return 0;
}
