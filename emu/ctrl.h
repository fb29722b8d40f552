/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control connection of a comm: headers of 16 bytes, in the order of the chunks. Only
 * test() drives it; it never blocks.
 */
#ifndef EMU_CTRL_H
#define EMU_CTRL_H

#include <stdbool.h>
#include <stdint.h>

#define EMU_CTRL_BUFFERED 8

enum emu_header_type { EMU_HEADER_DATA = 1, EMU_HEADER_ANNOUNCE };

struct emu_header {
	uint16_t type, socket;
	uint32_t size, offset, total;
};

struct emu_ctrl {
	int fd;
	bool broken;          /* closed, or garbage came                  */
	unsigned char out[EMU_CTRL_BUFFERED * sizeof(struct emu_header)];
	unsigned out_len;
	unsigned char in[sizeof(struct emu_header)];
	unsigned in_len;
};

bool emu_ctrl_room(const struct emu_ctrl *c);
/* Room is needed. */
void emu_ctrl_put(struct emu_ctrl *c, const struct emu_header *h);
/* Sends as much as the connection takes. */
void emu_ctrl_flush(struct emu_ctrl *c);
/* The next whole header; it stays until emu_ctrl_taken(). */
bool emu_ctrl_peek(struct emu_ctrl *c, struct emu_header *h);
void emu_ctrl_taken(struct emu_ctrl *c);

#endif
