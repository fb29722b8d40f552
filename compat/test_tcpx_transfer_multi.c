/* SPDX-License-Identifier: Apache-2.0 */
/* The same over several channels, in as many messages as the size has. */
#include "compat.h"

static const struct program program = {
	.name = "test_tcpx_transfer_multi",
	.tag = "TCPX",
	.about = "Moves messages over several channels and compares every byte.",
	.port = 12345, .size = 4 << 20, .chunk = 512 << 10, .iters = 1, .channels = 2,
	.text = "Hello from TCPX client!", .first_tag = 42,
};

int
main(int argc, char **argv)
{
	return run_main(&program, argc, argv);
}
