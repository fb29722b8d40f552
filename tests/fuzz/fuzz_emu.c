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
	bool large = fault && fault->kind == EMU_FAULT_FRAG_LARGE;
	struct emu_shape s;
	uint32_t bytes = 0;

	memcpy(&bytes, data, len < 3 ? len : 3);
	emu_shape_begin(&s, fault, bytes, 0, bytes, bytes);
	while (s.left) {
		uint32_t left = s.left;
		struct emu_cut c = emu_shape_next(&s);

		promise(c.len && c.len == left - s.left && c.src < EMU_PAGE);
		promise(large || c.src + c.len <= EMU_PAGE);
	}
}

/* Few inputs spell the name of a fault, so one of the faults cuts each input by its defaults. */
static void
cut_by_kind(const uint8_t *data, size_t len)
{
	char why[EMU_WHY_BYTES];
	struct emu_faults f;
	enum emu_fault_kind kind = len ? data[len - 1] % EMU_FAULT_KINDS : 0;

	promise(emu_faults_parse(emu_fault_name(kind), 4, &f, why, sizeof(why)));
	cut(&f.fault[0], data, len);
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
	cut_by_kind(data, len);
	free(text);
	return 0;
}
