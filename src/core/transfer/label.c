/* SPDX-License-Identifier: Apache-2.0 */
#include "core/transfer/label.h"

#include <errno.h>
#include <string.h>

#include "core/context/context.h"

int
tcpx_label_check(const char *text)
{
	size_t len = text ? strnlen(text, TCPX_LANE_LABEL) : 0;

	if (len == TCPX_LANE_LABEL)
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "a label of a lane has at most %d bytes",
				 TCPX_LANE_LABEL - 1);
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "byte %zu of a lane's label is %#x: "
					 "printable ASCII is allowed", i, (unsigned char)text[i]);
	return 0;
}

static void
move(_Atomic uint64_t *to, _Atomic uint64_t *from)
{
	count_add(to, atomic_exchange(from, 0));
}

/* Its place becomes free. */
static void
merge(struct lane_labels *all, struct lane_label *label)
{
	move(&all->other.failed, &label->failed);
	move(&all->other.messages_tx, &label->messages_tx);
	move(&all->other.messages_rx, &label->messages_rx);
	move(&all->other.bytes_tx, &label->bytes_tx);
	move(&all->other.bytes_rx, &label->bytes_rx);
	label->text[0] = '\0';
}

/* The one of that name, which may be new: in a free place, or in that of the one without lanes that
 * was given last the longest ago. */
static struct lane_label *
find(struct lane_labels *all, const char *text)
{
	struct lane_label *oldest = NULL;

	if (strcmp(text, all->other.text) == 0)
		return &all->other;
	for (size_t i = 0; i < TCPX_LANE_LABELS; i++) {
		struct lane_label *l = &all->at[i];

		if (strcmp(l->text, text) == 0)
			return l;
		if (!atomic_load(&l->lanes) && (!oldest || l->given < oldest->given))
			oldest = l;
	}
	if (!oldest)
		return &all->other;
	if (oldest->text[0])
		merge(all, oldest);
	memcpy(oldest->text, text, strlen(text) + 1);
	return oldest;
}

void
tcpx_label_take(struct tcpx_lane *l)
{
	if (!l->label)
		return;
	atomic_fetch_sub(&l->label->open, atomic_load(&l->status) == 0);
	atomic_fetch_sub(&l->label->lanes, 1); /* last: now it may be replaced */
	l->label = NULL;
}

void
tcpx_label_give(struct tcpx_lane *l, const char *text)
{
	struct lane_labels *all = &l->engine->labels;

	tcpx_label_take(l);
	if (!text || !text[0])
		return;
	memcpy(all->other.text, "other", sizeof("other"));
	l->label = find(all, text);
	l->label->given = ++all->given;
	atomic_fetch_add(&l->label->lanes, 1);
	atomic_fetch_add(&l->label->open, atomic_load(&l->status) == 0);
}
