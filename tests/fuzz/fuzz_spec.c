/* SPDX-License-Identifier: Apache-2.0 */
/* Specs of machines: an accepted spec can be written, reads back, and has a valid plan. */
#include "fuzz.h"
#include "tune/irq/irqplan.h"
#include "tune/texts/spec.h"

#include <stdlib.h>
#include <string.h>

FUZZ_QUIETLY

static void
read_back(const struct tcpx_machine *m)
{
	struct tcpx_machine again;
	char *text, *text_again;

	promise(tcpx_spec_format(m, &text) == 0);
	promise(tcpx_spec_parse(text, "own", &again) == 0);
	promise(tcpx_machine_hash(m) == tcpx_machine_hash(&again));
	promise(tcpx_cpuset_equal(&m->allowed, &again.allowed));
	promise(m->vector_count == again.vector_count);
	promise(tcpx_spec_format(&again, &text_again) == 0);
	promise(!strcmp(text, text_again));
	tcpx_machine_fini(&again);
	free(text);
	free(text_again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
	char *text = malloc(len + 1);
	struct tcpx_machine m;
	struct tcpx_plan p;

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	o.policy = (enum tcpx_irq_policy)(len % TCPX_IRQ_POLICIES);
	o.share_nic = len & 8;
	o.spill = len & 16;
	if (tcpx_spec_parse(text, "text", &m) == 0) {
		read_back(&m);
		if (tcpx_plan_make(&m, &o, &p) == 0) {
			for (unsigned i = 0; i < p.group_count; i++)
				promise(p.groups[i].tx_cores && p.groups[i].rx_cores &&
					tcpx_cpuset_within(&p.groups[i].pool, &m.allowed));
			tcpx_plan_fini(&p);
		}
		tcpx_machine_fini(&m);
	}
	free(text);
	return 0;
}
