/* SPDX-License-Identifier: Apache-2.0 */
#include "net/sock/path.h"

#include <linux/tcp.h> /* its tcp_info, which is longer than that of netinet/tcp.h */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"

#define TCP_HEAD  20u
#define TIMES     12u /* what time stamps take of each packet */
#define US        1000ull
#define DROPPED_NS (500 * TCPX_MS) /* until the kernel tries again */
#define IP_HEAD(v6) ((v6) ? 40u : 20u)

static bool
is_v6(int fd)
{
	int family = 0;
	socklen_t len = sizeof(family);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) == 0 && family == AF_INET6;
}

/* Although the window is open: no packet gets out of here. What a closed window keeps here
 * does not count: who closes it is alive. */
static bool
is_unsent(const struct tcp_info *tcp)
{
	return tcp->tcpi_unacked == 0 && tcp->tcpi_notsent_bytes > 0 && tcp->tcpi_snd_wnd >= tcp->tcpi_snd_mss;
}

/* A repeat doubles the time to the next one; one that this host's own interface drops does
 * not. */
static void
oldest(int fd, const struct tcp_info *tcp, struct tcpx_net_way *way)
{
	uint64_t bytes = is_unsent(tcp) ? tcp->tcpi_notsent_bytes :
			 tcp->tcpi_bytes_sent - tcp->tcpi_bytes_retrans - tcp->tcpi_bytes_acked;
	uint32_t times = is_unsent(tcp) ? tcp->tcpi_probes : tcp->tcpi_retransmits;
	uint32_t doubled = tcp->tcpi_backoff < times ? tcp->tcpi_backoff : times;

	if (!times)
		return;
	if (bytes > tcp->tcpi_snd_mss)
		bytes = tcp->tcpi_snd_mss;
	way->resent = times;
	way->stuck_ns = (tcp->tcpi_rto - (tcp->tcpi_rto >> doubled % 32)) * US +
			(times - doubled) * DROPPED_NS;
	way->carried = tcp->tcpi_bytes_acked >= bytes;
	way->packet = (uint32_t)bytes + TCP_HEAD + IP_HEAD(is_v6(fd)) +
		      (tcp->tcpi_options & TCPI_OPT_TIMESTAMPS ? TIMES : 0);
	way->mtu = tcp->tcpi_pmtu;
}

int
tcpx_sock_under_way(int fd, struct tcpx_net_way *way)
{
	struct tcp_info tcp = { 0 };
	socklen_t len = sizeof(tcp);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len) < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "TCP_INFO of a connection");
	*way = (struct tcpx_net_way){ .quiet_ns = tcp.tcpi_last_ack_recv * TCPX_MS };
	oldest(fd, &tcp, way);
	return tcp.tcpi_unacked > 0 || is_unsent(&tcp);
}

void
tcpx_sock_limit(int fd, const struct tcpx_addr *to, uint16_t packet)
{
	int mss = (int)(packet - TCP_HEAD - IP_HEAD(to->family == 6));

	if (packet)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss));
}
