/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the roles of NICs into the lists of a plan. */
#include "tune/plan/nics.h"

#include <string.h>

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

int
plan_machine_read(const char *command, const char *root, struct machine **here,
		  struct tcpx_machine *m)
{
	*here = machine_new(command, root, "");
	if (!*here)
		return TOOL_USAGE;
	if ((*here)->facts->nics_rc == 0 && tcpx_topo_machine((*here)->topo, m) == 0)
		return TOOL_OK;
	machine_free(*here);
	return TOOL_USAGE; /* the reason is in the log */
}

int
plan_nics(const char *command, struct machine *here, const struct tcpx_machine *m,
	  struct plan_nics *out)
{
	struct tcpx_roles roles;
	int rc;

	rc = machine_roles(here, NULL, NULL, &roles);
	if (rc < 0)
		return TOOL_DENIED; /* the existing NICs have been logged */
	fill(m, &roles, out);
	if (!*out->list && *here->selection)
		rc = tool_fail(TOOL_DENIED, command, "\"%s\" names none of the NICs that a plan "
			       "can be for", here->selection);
	return rc;
}
