/* SPDX-License-Identifier: Apache-2.0 */
/* unpack: the command line of the copy kernels alone, on one GPU and without network. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tcpx/tcpx.h"
#include "tool/opt.h"
#include "tool/tool.h"
#include "unpack.h"

struct args {
	unsigned gpu, pairs;
	const char *json;
};
#define S struct args

static const struct opt opts[] = {
	{ 0, "gpu", "N", "the GPU (0)", OPT_INT(gpu, 0, 1023) },
	{ 0, "pairs", "N", "pairs of launch and copy behind a figure (11)",
	  OPT_INT(pairs, 1, UNPACK_ROUNDS_MAX) },
	{ 0, "json", "FILE", "also write the result as JSON", OPT_TEXT(json) },
};

int
main(int argc, char **argv)
{
	static const struct opt_command cmd = {
		"unpack", "[OPTIONS]",
		"Measures the copy kernels on one GPU beside the driver's own copies, and compares "
		"what they copied. TCPX_CUDA_LIBRARY names the driver's library.",
		opts, ARRAY_LEN(opts), NULL, false, NULL,
	};
	struct args a = { .pairs = 11 };
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	rc = opt_words(&p, 0);
	if (rc)
		return rc;
	rc = unpack_bench(stdout, a.json, getenv("TCPX_CUDA_LIBRARY"), a.gpu, a.pairs);
	if (rc)
		tool_fail(TOOL_FINDING, cmd.name, "the copy kernels: %s", tcpx_strerror(rc));
	return !rc ? TOOL_OK : rc == -ENODEV ? TOOL_DENIED : TOOL_FINDING;
}
