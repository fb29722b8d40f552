/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run is invalidated from outside its figure, never because a figure looks odd: else the
 * experiment would choose its own result.
 */
#include "measure/matrix/validity.h"

#include <math.h>
#include <stdio.h>

#define JUDGED_S 0.5 /* CPU time has ticks of 10 ms */

bool
matrix_valid(const struct matrix_facts *f, char reason[MATRIX_WHY])
{
	reason[0] = '\0';
	if (f->setup[0])
		snprintf(reason, MATRIX_WHY, "set-up: %.180s", f->setup);
	else if (f->ended.timed_out)
		snprintf(reason, MATRIX_WHY, "took longer than the timeout: ended after %.1f s",
			 f->ended.seconds);
	else if (f->ended.code)
		snprintf(reason, MATRIX_WHY, "exit code %d%s%.150s", f->ended.code,
			 f->said[0] ? ": " : "", f->said);
	else if (isnan(f->figure))
		snprintf(reason, MATRIX_WHY, "no figure: %.180s", f->figure_why);
	else if (!(f->figure > 0))
		snprintf(reason, MATRIX_WHY, "the figure is %.6g; only what is above 0 can be "
			 "compared", f->figure);
	else if (f->failed[0])
		snprintf(reason, MATRIX_WHY, "%.190s", f->failed);
	else if (f->load->drifted)
		snprintf(reason, MATRIX_WHY, "affinity of %zu IRQs changed meanwhile: %.120s",
			 f->load->drifted, f->load->drift);
	else if (f->ended.seconds < JUDGED_S)
		; /* too short: the tick cannot say whose time it was */
	else if (f->load->steal > f->steal_max)
		snprintf(reason, MATRIX_WHY, "the hypervisor took %.1f %% of the time, allowed is "
			 "%.1f %%", 100 * f->load->steal, 100 * f->steal_max);
	else if (f->load->background > f->load_max)
		snprintf(reason, MATRIX_WHY, "other processes took %.1f %% of all CPUs, allowed is "
			 "%.1f %%", 100 * f->load->background, 100 * f->load_max);
	return !reason[0];
}
