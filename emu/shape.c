/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths and offsets of fragments. */
#include "emu/shape.h"

#include "emu/rng.h"

#define MOST (EMU_TASK_FRAGS - 1)

void
emu_shape_begin(struct emu_shape *s, const struct emu_fault *fault, uint64_t seed,
		uint32_t offset, uint32_t len, uint32_t total)
{
	*s = (struct emu_shape){ .fault = fault, .rng = emu_rng_mix(seed, offset), .left = len };
	if (fault && fault->kind == EMU_FAULT_FRAG_COUNT && total) {
		uint64_t n = (uint64_t)fault->n;

		s->quota = (uint32_t)(n * (offset + (uint64_t)len) / total - n * offset / total);
	}
}

/* Would the rest still fit into the remaining fragments? */
static bool
fits(const struct emu_shape *s, uint32_t len)
{
	uint32_t rest = s->left - len;

	return s->made < MOST && (rest + EMU_PAGE - 1) / EMU_PAGE <= MOST - s->made - 1;
}

static uint32_t
clamp(uint64_t value, uint32_t min, uint32_t max)
{
	return value < min ? min : value > max ? max : (uint32_t)value;
}

/* As even as possible; the last takes the rest. */
static uint32_t
counted(const struct emu_shape *s)
{
	uint32_t more = s->quota > s->made ? s->quota - s->made : 1;

	return clamp(s->left / more, 1, EMU_PAGE);
}

static struct emu_cut
usual(struct emu_shape *s)
{
	struct emu_cut cut = { 0, EMU_PAGE };

	if (emu_rng_below(&s->rng, 8))
		return cut;
	cut.len = 1 + emu_rng_below(&s->rng, EMU_PAGE);
	cut.src = emu_rng_below(&s->rng, EMU_PAGE - cut.len + 1);
	return cut;
}

static struct emu_cut
wanted(struct emu_shape *s)
{
	uint32_t i = s->made;

	switch (s->fault ? s->fault->kind : EMU_FAULT_KINDS) {
	case EMU_FAULT_FRAG_SIZE:
		return (struct emu_cut){ 0, clamp((uint64_t)s->fault->n, 1, EMU_PAGE) };
	case EMU_FAULT_FRAG_ODD_EVEN:
		return (struct emu_cut){ i % 2, 2 * (1 + emu_rng_below(&s->rng, 1000)) + i % 2 };
	case EMU_FAULT_FRAG_LARGE:
		return (struct emu_cut){ emu_rng_below(&s->rng, EMU_PAGE), (uint32_t)s->fault->n };
	case EMU_FAULT_FRAG_ALIGN: /* each length is 1 more than a multiple of 16 */
		return (struct emu_cut){ i / 16 % 16, 16 * (1 + emu_rng_below(&s->rng, 200)) + 1 };
	default:
		return usual(s);
	}
}

struct emu_cut
emu_shape_next(struct emu_shape *s)
{
	struct emu_cut cut;

	if (s->fault && s->fault->kind == EMU_FAULT_FRAG_COUNT) {
		cut = (struct emu_cut){ 0, counted(s) };
	} else {
		cut = wanted(s);
		if (cut.len > s->left)
			cut.len = s->left;
		if (!fits(s, cut.len))
			cut = (struct emu_cut){ 0, EMU_PAGE };
	}
	if (cut.len > s->left)
		cut.len = s->left;
	s->left -= cut.len;
	s->made++;
	return cut;
}
