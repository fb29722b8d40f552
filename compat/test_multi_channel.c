/* SPDX-License-Identifier: Apache-2.0 */
/* One transfer over four channels: do all of them come up, and is the data right? */
#include "compat.h"

static const struct program program = {
	.name = "test_multi_channel",
	.tag = "PERF",
	.about = "Opens four channels, shows their NICs, moves one transfer and compares it.",
	.port = 20000, .port_by_gpu = true, .size = 16 << 20, .chunk = 512 << 10, .iters = 1,
	.channels = 4, .gpu_word = true, .first_tag = 99,
};

int
main(int argc, char **argv)
{
	return run_main(&program, argc, argv);
}
