/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidth between two processes, over one channel. */
#include "compat.h"

static const struct program program = {
	.name = "test_tcpx_perf",
	.tag = "PERF",
	.about = "Measures bandwidth over one channel; every byte is compared.",
	.port = 12347, .size = 4 << 20, .chunk = 512 << 10, .iters = 10, .channels = 1,
	.gpu_word = true, .first_tag = 99,
};

int
main(int argc, char **argv)
{
	return run_main(&program, argc, argv);
}
