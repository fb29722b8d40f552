/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the machine as texts, for diagnosis. @root as in host/host.h. */
#ifndef TUNE_FACTS_TEXT_H
#define TUNE_FACTS_TEXT_H

#include <stddef.h>

#include "base/err.h"

/* The whole text without white space at its end; or the names in a directory in their
 * bytes' order, each ended by a NUL and the last by two. Returns the length, -EFBIG if it
 * does not fit, or -errno. Not logged. */
TCPX_MUST_CHECK int tcpx_host_text_read(const char *root, const char *path, char *buf,
					size_t cap);
/* The last bytes of a file, from the start of a line; otherwise like text_read. */
TCPX_MUST_CHECK int tcpx_host_tail_read(const char *root, const char *path, char *buf,
					size_t cap);
TCPX_MUST_CHECK int tcpx_host_names_read(const char *root, const char *dir, char *buf,
					 size_t cap);

#endif
