/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory/sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

#define SUMS_FIRST 64

static int
room_for_one(struct sum_list *s)
{
	uint32_t cap = s->cap ? 2 * s->cap : SUMS_FIRST;
	struct tcpx_summed *grown;

	if (s->count < s->cap)
		return 0;
	grown = realloc(s->at, cap * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->at = grown;
	s->cap = cap;
	return 0;
}

/* Pages side by side are one part. */
static int
add(struct sum_list *s, uint32_t of, const struct tcpx_frag *f)
{
	struct tcpx_summed *last = s->count ? &s->at[s->count - 1] : NULL;
	int rc;

	if (last && last->of == of && last->addr + last->len == f->addr) {
		last->len += f->len;
		return 0;
	}
	rc = room_for_one(s);
	if (rc == 0)
		s->at[s->count++] = (struct tcpx_summed){ f->addr, f->len, of };
	return rc;
}

int
tcpx_sums_add(struct sum_list *s, uint32_t of, const struct tcpx_fraglist *list, uint64_t off,
	      uint64_t len)
{
	struct tcpx_fragpos pos = tcpx_frag_seek(list, off);
	struct tcpx_frag frag;
	uint64_t part;
	int rc = 0;

	s->sum[of] = 0;
	for (; rc == 0 && len > 0; len -= part)
		rc = tcpx_frag_next(list, &pos, len, &frag, 1, &part) ? add(s, of, &frag) : TCPX_EFRAME;
	return rc;
}
