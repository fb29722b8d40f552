/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the harnesses. A broken promise ends the process, which is a finding. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define promise(condition)                                                                 \
	do {                                                                               \
		if (!(condition))                                                          \
			__builtin_trap();                                                  \
	} while (0)

/* Refusals are what inputs mostly meet: keep them out of the log. */
#define FUZZ_QUIETLY                                                                       \
	int LLVMFuzzerInitialize(int *argc, char ***argv)                                  \
	{                                                                                  \
		return tcpx_log_setup("NONE", NULL, NULL);                                 \
	}

#endif
