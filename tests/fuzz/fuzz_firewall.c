/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of packet filters: any text has an answer. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tune/doctor/firewall.h"

FUZZ_QUIETLY

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), out[300];

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	(void)firewall_quote(text, 28515, out, sizeof(out));
	promise(strlen(out) < sizeof(out));
	free(text);
	return 0;
}
