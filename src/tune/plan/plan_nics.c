/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the roles of NICs into the lists of a plan. */
#include "tune/plan/plan_nics.h"

#include <stdlib.h>
#include <string.h>

#include "tune/info/machine.h"
#include "tool/tool.h"

static void
append(char *list, size_t cap, const char *name)
{
	size_t len = strlen(list);

	snprintf(list + len, cap - len, "%s%s", len ? "," : "", name);
}

static void
fill(const struct tcpx_machine *m, const struct tcpx_roles *roles, struct plan_nics *out)
{
	*out = (struct plan_nics){ .why = roles->data_why };
	for (unsigned i = 0; i < m->nic_count; i++) {
		bool data = tcpx_roles_data(roles, m->nics[i].name);

		append(data ? out->list : out->left_out, sizeof(out->list), m->nics[i].name);
	}
	if (!*out->list)
		out->left_out[0] = '\0';
}

/* A text has the places of NICs and GPUs, and nothing of their state. */
static int
of_text(const char *command, const struct tcpx_machine *m, struct plan_nics *out)
{
	struct tcpx_host_nic *nics = calloc(m->nic_count + 1, sizeof(*nics));
	struct tcpx_host_gpu *gpus = calloc(m->gpu_count + 1, sizeof(*gpus));
	struct tcpx_roles roles;

	if (!nics || !gpus) {
		free(nics);
		free(gpus);
		return tool_fail(TOOL_DENIED, command, "no memory for the NICs of %s", m->name);
	}
	for (unsigned i = 0; i < m->nic_count; i++) {
		snprintf(nics[i].ifname, sizeof(nics[i].ifname), "%s", m->nics[i].name);
		nics[i].place = m->nics[i].place;
	}
	for (unsigned i = 0; i < m->gpu_count; i++)
		gpus[i].place = m->gpus[i].place;
	tcpx_roles_find(&(struct tcpx_role_facts){ .nics = nics, .nic_count = m->nic_count,
			.gpus = gpus, .gpu_count = m->gpu_count, .route = "" }, &roles);
	fill(m, &roles, out);
	free(nics);
	free(gpus);
	return TOOL_OK;
}

int
plan_nics(const char *command, const struct tcpx_machine *m, bool text, const char *root,
	  struct plan_nics *out)
{
	struct tcpx_roles roles;
	struct machine *here;
	int rc;

	if (text)
		return of_text(command, m, out);
	here = machine_new(command, root, "");
	if (!here)
		return TOOL_USAGE;
	rc = machine_roles(here, NULL, NULL, &roles);
	if (rc < 0) {
		machine_free(here);
		return TOOL_DENIED; /* the existing NICs have been logged */
	}
	fill(m, &roles, out);
	if (!*out->list && *here->selection)
		rc = tool_fail(TOOL_DENIED, command, "\"%s\" names none of the NICs that a plan "
			       "can be for", here->selection);
	machine_free(here);
	return rc;
}
