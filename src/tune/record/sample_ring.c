/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of a recorder. */
#include "tune/record/sample_part.h"

/* ---- the ring --------------------------------------------------------------------- */

static struct sample_cell *
cell_at(const struct tcpx_sampler *s, uint64_t place)
{
	return &s->ring[place % s->cells];
}

/* If a cell of a sample is overwritten, the whole sample goes. */
static void
push_out(struct tcpx_sampler *s)
{
	uint32_t sample = cell_at(s, s->first)->sample;

	while (s->first < s->next && cell_at(s, s->first)->sample == sample)
		s->first++;
	s->cost.lost++;
}

void
tcpx_sampler_put(struct tcpx_sampler *s, unsigned object, int cpu,
		 enum tcpx_sample_metric metric, uint64_t value)
{
	if (value == 0 || s->sample == 0)
		return;
	if (s->next - s->first == s->cells)
		push_out(s);
	*cell_at(s, s->next++) = (struct sample_cell){
		s->sample, (uint16_t)object, (int16_t)cpu, (unsigned)metric & 63,
		value & ((1ull << 58) - 1) };
}

void
tcpx_sampler_each(const struct tcpx_sampler *s,
		  void (*fn)(void *arg, const struct tcpx_sample *sample), void *arg)
{
	for (uint64_t i = s->first; i < s->next; i++) {
		const struct sample_cell *cell = cell_at(s, i);
		struct tcpx_sample sample = {
			.ns = s->time_ns[cell->sample % SAMPLE_TIMES], .object = cell->object,
			.cpu = cell->cpu, .metric = cell->metric, .value = cell->value,
		};

		fn(arg, &sample);
	}
}

void
tcpx_sampler_push_out(struct tcpx_sampler *s)
{
	if (s->first < s->next && s->sample - cell_at(s, s->first)->sample >= SAMPLE_TIMES)
		push_out(s);
}
