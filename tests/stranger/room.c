/* SPDX-License-Identifier: Apache-2.0 */
#include "room.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

int
room_make(struct room *room, size_t max)
{
	*room = (struct room){ .size = (max + 64 * PAGE + PAGE - 1) / PAGE * PAGE };
	room->base =
		mmap(NULL, room->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return room->base == MAP_FAILED ? -1 : 0;
}

void
room_free(struct room *room)
{
	munmap(room->base, room->size);
}

uint8_t *
room_take(struct room *room, size_t need)
{
	size_t at = 0, end = room->size;

	if (room->tail - room->head == ROOM_LIVE)
		return NULL;
	if (room->tail != room->head) {
		size_t first = room->live[room->head % ROOM_LIVE].start;

		at = room->live[(room->tail - 1) % ROOM_LIVE].end;
		if (at <= first)
			end = first;
		else if (need > end - at)
			at = 0, end = first;
	}
	if (need > end - at)
		return NULL;
	room->live[room->tail % ROOM_LIVE].start = at;
	room->live[room->tail % ROOM_LIVE].end = at + need;
	room->tail++;
	return room->base + at;
}

void
room_drop(struct room *room)
{
	room->head++;
}
