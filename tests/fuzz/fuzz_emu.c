/* SPDX-License-Identifier: Apache-2.0 */
/* The emulator's texts, and the cutting of chunks that they select. */
#include <stdlib.h>
#include <string.h>

#include "emu/shape.h"
#include "emu/topology.h"
#include "fuzz.h"

FUZZ_QUIETLY

static void
cut(const struct emu_fault *fault, const uint8_t *data, size_t len)
{
	struct emu_shape s;
	uint32_t bytes = 0;

	memcpy(&bytes, data, len < 3 ? len : 3);
	emu_shape_begin(&s, fault, bytes, 0, bytes, bytes);
	while (s.left) {
		struct emu_cut c = emu_shape_next(&s);

		promise(c.len && c.src + c.len <= EMU_PAGE);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), why[EMU_WHY_BYTES];
	struct emu_topology t;
	struct emu_faults f;

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	if (emu_topology_parse(text, &t, why)) {
		promise(t.count && t.count <= EMU_NICS_MAX);
		for (unsigned i = 1; i < t.count; i++)
			promise(strcmp(t.nic[i - 1].name, t.nic[i].name) < 0);
		emu_topology_select(&t, text);
	}
	if (emu_faults_parse(text, 4, &f, why, sizeof(why)))
		cut(f.count ? &f.fault[0] : NULL, data, len);
	free(text);
	return 0;
}
