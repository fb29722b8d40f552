/* SPDX-License-Identifier: Apache-2.0 */
/* The application's host memory, touched by system calls. */
#include "core/memory/touch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

/* msync() with MS_ASYNC writes nothing: it walks the mappings, and says where one is missing. */
bool
tcpx_memory_mapped(const void *addr, size_t len)
{
	uintptr_t from = (uintptr_t)addr & ~(uintptr_t)(PAGE_BYTES - 1);

	return msync((void *)from, (uintptr_t)addr + len - from, MS_ASYNC) == 0 || errno != ENOMEM;
}

/* Through a pipe: for mappings of devices, which the call below refuses, and where it is not
 * allowed. A page at a time fits into any pipe. */
static int
copy_by_pipe(enum tcpx_flow flow, uint8_t *at, uint8_t *buf, size_t len)
{
	uint8_t *to = flow == TCPX_FLOW_PACK ? buf : at, *from = flow == TCPX_FLOW_PACK ? at : buf;
	size_t done = 0, part;
	int fd[2], rc = 0;

	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	for (; rc == 0 && done < len; done += part) {
		part = len - done < PAGE_BYTES ? len - done : PAGE_BYTES;
		if (write(fd[1], from + done, part) != (ssize_t)part ||
		    read(fd[0], to + done, part) != (ssize_t)part)
			rc = -EFAULT;
	}
	close(fd[0]);
	close(fd[1]);
	return rc;
}

int
tcpx_memory_copy(enum tcpx_flow flow, void *at, void *buf, size_t len)
{
	struct iovec theirs = { at, len }, ours = { buf, len };
	ssize_t n = flow == TCPX_FLOW_PACK ? process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0) :
					     process_vm_writev(getpid(), &ours, 1, &theirs, 1, 0);

	return n == (ssize_t)len ? 0 : copy_by_pipe(flow, at, buf, len);
}
