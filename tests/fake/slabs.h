/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the slabs that are mapped, and refuses more. Linked with --wrap=mmap64,--wrap=munmap. */
#ifndef FAKE_SLABS_H
#define FAKE_SLABS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/slab.h"

static _Atomic int slabs;
static bool no_slabs;

void *__real_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t off);
int __real_munmap(void *at, size_t len);
int __wrap_munmap(void *at, size_t len);

void *
__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	bool slab = len == TCPX_SLAB_BYTES;

	if (slab && no_slabs)
		return MAP_FAILED;
	atomic_fetch_add(&slabs, slab);
	return __real_mmap64(at, len, prot, flags, fd, off);
}

int
__wrap_munmap(void *at, size_t len)
{
	atomic_fetch_sub(&slabs, len == TCPX_SLAB_BYTES);
	return __real_munmap(at, len);
}

#endif
