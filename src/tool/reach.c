/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/reach.h"

#include <linux/tcp.h> /* its tcp_info, which is longer than that of netinet/tcp.h */
#include <netinet/in.h>
#include <sys/socket.h>

#define TCP_HEAD 20
#define TIMES    12 /* what time stamps take of each packet */

const char reach_fill[REACH_PIECE];

void
reach_packets(int fd, struct reach_packets *out)
{
	struct tcp_info tcp = { 0 };
	socklen_t len = sizeof(tcp), family_len = sizeof(int);
	int family = AF_INET;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &family_len) < 0)
		return;
	out->head = TCP_HEAD + (family == AF_INET6 ? 40 : 20) +
		    (tcp.tcpi_options & TCPI_OPT_TIMESTAMPS ? TIMES : 0);
	out->full = tcp.tcpi_snd_mss + out->head;
	out->mtu = tcp.tcpi_pmtu;
}
