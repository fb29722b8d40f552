/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/kept.h"

#include <stdlib.h>
#include <string.h>

void *
emu_kept_new(struct emu_kept *k, size_t size)
{
	struct emu_kept_node *node = NULL, *all;

	pthread_mutex_lock(&k->lock);
	if (k->ended > EMU_KEPT) {
		node = k->oldest;
		k->oldest = node->next;
		k->ended--;
		all = node->all;
		memset(node, 0, size);
		node->all = all;
	} else if ((node = calloc(1, size))) {
		node->all = k->all;
		k->all = node;
	}
	pthread_mutex_unlock(&k->lock);
	return node;
}

void
emu_kept_end(struct emu_kept *k, void *object)
{
	struct emu_kept_node *node = object;

	pthread_mutex_lock(&k->lock);
	node->next = NULL;
	if (k->ended++)
		k->newest->next = node;
	else
		k->oldest = node;
	k->newest = node;
	pthread_mutex_unlock(&k->lock);
}
