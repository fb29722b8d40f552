/* SPDX-License-Identifier: Apache-2.0 */
/* machine_tree TEXT DIR: writes the tree of a machine that a text describes, for --root. */
#include <stdio.h>

#include "machine/spec.h"
#include "machine/tree.h"

int
main(int argc, char **argv)
{
	struct tcpx_machine m;
	int rc;

	if (argc != 3) {
		fprintf(stderr, "usage: machine_tree TEXT DIR\n");
		return 2;
	}
	if (tcpx_spec_load(argv[1], &m) < 0)
		return 2; /* the reason is in the log */
	rc = tcpx_tree_write(&m, argv[2]);
	tcpx_machine_fini(&m);
	return rc < 0 ? 2 : 0;
}
