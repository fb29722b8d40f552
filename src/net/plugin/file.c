/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the head of a library's file. dlopen() maps what the program headers name, and a page of it
 * that the file does not have costs a SIGBUS. */
#include "net/plugin/file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
read_at(int fd, uint64_t at, void *out, size_t len)
{
	return pread(fd, out, len, (off_t)at) == (ssize_t)len;
}

/* Bytes that the file must have; 0: it is no library that dlopen() would map. */
static uint64_t
bytes_needed(int fd)
{
	uint64_t need = 0;
	ElfW(Ehdr) head;
	ElfW(Phdr) part;

	if (!read_at(fd, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_phentsize != sizeof(part))
		return 0;
	for (uint32_t i = 0; i < head.e_phnum; i++) {
		if (!read_at(fd, head.e_phoff + i * sizeof(part), &part, sizeof(part)))
			return UINT64_MAX;
		if (part.p_type == PT_LOAD && part.p_offset + part.p_filesz > need)
			need = part.p_offset + part.p_filesz;
	}
	return need;
}

static int
check(int fd, char *why, size_t cap)
{
	uint64_t need;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		snprintf(why, cap, "it is no file");
		return -ELIBBAD;
	}
	need = bytes_needed(fd);
	if (need <= (uint64_t)st.st_size)
		return 0;
	snprintf(why, cap, "it is cut short: %llu bytes", (unsigned long long)st.st_size);
	return -ELIBBAD;
}

int
plug_file_check(const char *name, char *why, size_t cap)
{
	int fd, rc;

	if (!strchr(name, '/'))
		return 0;
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	rc = check(fd, why, cap);
	close(fd);
	return rc;
}
