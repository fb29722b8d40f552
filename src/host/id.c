/* SPDX-License-Identifier: Apache-2.0 */
/* Who we are to a peer: the same number means that a loopback leads there. */
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "host/host.h"
#include "host/io.h"

/* The machine itself, also where TCPX_ROOT has another one: sockets are opened here. */
uint64_t
tcpx_host_id(void)
{
	uint64_t hash, inode;
	char boot[64];
	struct stat ns;

	if (tcpx_io_read(NULL, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) <= 0 ||
	    stat("/proc/thread-self/ns/net", &ns) < 0)
		return 0;
	inode = ns.st_ino;
	hash = tcpx_hash_add(tcpx_hash(0, boot, strlen(boot)), &inode, sizeof(inode));
	return hash ? hash : 1;
}
