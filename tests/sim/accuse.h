/* SPDX-License-Identifier: Apache-2.0 */
/* Codes that say that a peer broke the protocol: no engine may give one to an honest peer. */
#ifndef SIM_ACCUSE_H
#define SIM_ACCUSE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tcpx/tcpx.h"

static const int accusing_codes[] = { TCPX_EFRAME, TCPX_EPROTO, TCPX_EBLOB, TCPX_EKEY, TCPX_ERANGE };

static inline bool
code_accuses(int code)
{
	for (size_t i = 0; i < sizeof(accusing_codes) / sizeof(accusing_codes[0]); i++)
		if (code == accusing_codes[i])
			return true;
	return false;
}

/* Does a line of the log name such a code? */
static inline bool
line_accuses(const char *line)
{
	char name[32];

	for (size_t i = 0; i < sizeof(accusing_codes) / sizeof(accusing_codes[0]); i++) {
		snprintf(name, sizeof(name), "(%s)", tcpx_strerror_name(accusing_codes[i]));
		if (strstr(line, name))
			return true;
	}
	return false;
}

#endif
