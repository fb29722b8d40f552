/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a message that are sent next: pieces of its payload, or filler. */
#include "net/sock/payload.h"

#include <string.h>

/* Fills up an abandoned message. */
static const uint8_t zero_page[4096];

int
tcpx_sock_payload(const struct tcpx_tx_msg *m, struct iovec *v, int max, size_t *bytes)
{
	size_t left = m->head.len - m->sent;
	int n = 0;

	for (int i = 0; left && n < max && (m->abandon || i < m->iov_count); i++) {
		struct iovec piece = { (void *)zero_page, sizeof(zero_page) };

		if (!m->abandon)
			piece = m->iov[i];
		if (!piece.iov_len)
			continue;
		if (piece.iov_len > left)
			piece.iov_len = left;
		left -= piece.iov_len;
		v[n++] = piece;
	}
	*bytes = m->head.len - m->sent - left;
	return n;
}

/* The pieces shrink as they are used. The array stays where it is, since the core fills it
 * again. */
void
tcpx_sock_payload_use(struct tcpx_tx_msg *m, size_t bytes)
{
	int used = 0;

	while (used < m->iov_count && m->iov[used].iov_len <= bytes)
		bytes -= m->iov[used++].iov_len;
	m->iov_count -= used;
	memmove(m->iov, m->iov + used, (size_t)m->iov_count * sizeof(*m->iov));
	if (bytes) {
		m->iov->iov_base = (uint8_t *)m->iov->iov_base + bytes;
		m->iov->iov_len -= bytes;
	}
}
