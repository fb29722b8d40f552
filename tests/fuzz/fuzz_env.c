/* SPDX-License-Identifier: Apache-2.0 */
/* Environments of processes and files: every text has a name, and nothing is lost at the end. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tune/env/lint.h"

FUZZ_QUIETLY

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	for (int end = 0; end < 2; end++) {
		char **texts = end ? env_job_texts((const char *)data, len) : env_texts((const char *)data, len);
		size_t bytes = 0;

		promise(texts != NULL);
		for (char **at = texts; *at; at++) {
			promise(**at != '\0');
			bytes += strlen(*at) + 1;
		}
		promise(bytes <= len + 1);
		(void)env_text_value(texts, "A");
		env_texts_free(texts);
	}
	return 0;
}
