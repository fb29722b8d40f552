/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "core/memory/payload.h"

#define SPANS_FIRST 256

static int
room_for(struct span_list *s, uint32_t more)
{
	struct tcpx_copy *grown;
	uint32_t cap = s->cap ? s->cap : SPANS_FIRST;

	while (cap < s->count + more)
		cap *= 2;
	if (cap == s->cap)
		return 0;
	grown = realloc(s->at, cap * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->at = grown;
	s->cap = cap;
	return 0;
}

int
tcpx_spans_add(struct span_list *s, const struct tcpx_fraglist *src, uint64_t src_off,
	       const struct tcpx_fraglist *dst, uint64_t dst_off, uint64_t len)
{
	struct tcpx_fragpos spos = tcpx_frag_seek(src, src_off);
	struct tcpx_fragpos dpos = tcpx_frag_seek(dst, dst_off);
	struct tcpx_span span[CORE_IOV];
	uint64_t part;
	size_t i, n;
	int rc = 0;

	while (rc == 0 && len > 0) {
		n = tcpx_frag_compose(src, &spos, dst, &dpos, len, span, CORE_IOV, &part);
		rc = n == 0 ? TCPX_EFRAME : room_for(s, (uint32_t)n);
		for (i = 0; rc == 0 && i < n; i++)
			s->at[s->count++] = (struct tcpx_copy){ span[i].src, span[i].dst, span[i].len };
		len -= part;
	}
	return rc;
}
