/* SPDX-License-Identifier: Apache-2.0 */
/* One message of 4 KiB, a text and a pattern. */
#include "compat.h"

static const struct program program = {
	.name = "test_tcpx_transfer",
	.tag = "TCPX",
	.about = "Moves one message and compares every byte of it.",
	.port = 12345, .size = 4096, .chunk = 512 << 10, .iters = 1, .channels = 1,
	.text = "Hello from TCPX client!", .first_tag = 42,
};

int
main(int argc, char **argv)
{
	return run_main(&program, argc, argv);
}
