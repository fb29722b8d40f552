/* SPDX-License-Identifier: Apache-2.0 */
#include "net/sock/path.h"

#include <linux/tcp.h> /* its tcp_info, which is longer than that of netinet/tcp.h */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"

int
tcpx_sock_under_way(int fd, uint64_t *quiet_ns)
{
	struct tcp_info tcp = { 0 };
	socklen_t len = sizeof(tcp);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len) < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "TCP_INFO of a connection");
	*quiet_ns = tcp.tcpi_last_ack_recv * TCPX_MS;
	/* Unsent although the window is open: no packet gets out of here. What a closed window keeps
	 * here does not count: who closes it is alive. */
	return tcp.tcpi_unacked > 0 ||
	       (tcp.tcpi_notsent_bytes > 0 && tcp.tcpi_snd_wnd >= tcp.tcpi_snd_mss);
}
