/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the roles of NICs into the lists of a plan. */
#include "tune/plan/nics.h"

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

int
plan_nics(const char *command, const struct tcpx_machine *m, const char *root,
	  struct plan_nics *out)
{
	struct tcpx_roles roles;
	struct machine *here;
	int rc;

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
