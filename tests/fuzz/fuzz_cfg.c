/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: each line of the input as an assignment by the caller, and the whole input
 * as a file. Refused or read, nothing else.
 */
#include "base/cfg.h"
#include "base/cfg_file.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

FUZZ_QUIETLY

static int
set_line(void *arg, const char *name, const char *value, const char *source)
{
	promise(name && value && source && name[0]);
	return 0;
}

static void
read_file(const uint8_t *data, size_t len)
{
	static int fd = -1;
	char path[64];

	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		promise(fchmod(fd, 0600) == 0); /* else it is refused */
	}
	if (ftruncate(fd, 0) != 0 || pwrite(fd, data, len, 0) != (ssize_t)len)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	tcpx_cfg_file_read(path, TCPX_CFG_NAMED, set_line, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tcpx_cfg_sources none = { .env = NULL };
	char *text = malloc(len + 1), *rest = text;
	struct tcpx_cfg *cfg;

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	if (tcpx_cfg_load(&none, &cfg) == 0) {
		for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
			if (tcpx_cfg_set(cfg, line, "fuzz") == 0)
				promise(strchr(line, '='));
		}
		tcpx_cfg_free(cfg);
	}
	free(text);
	read_file(data, len);
	return 0;
}
