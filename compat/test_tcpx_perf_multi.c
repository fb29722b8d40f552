/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidth over several channels, one port for each GPU. */
#include "compat.h"

static const struct program program = {
	.name = "test_tcpx_perf_multi",
	.tag = "PERF",
	.about = "Measures bandwidth over several channels; every byte is compared.",
	.port = 20000, .port_by_gpu = true, .size = 4 << 20, .chunk = 512 << 10, .iters = 10,
	.channels = 2, .gpu_word = true, .first_tag = 99,
};

int
main(int argc, char **argv)
{
	return run_main(&program, argc, argv);
}
