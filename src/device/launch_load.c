/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the kernels: the first image that the driver accepts. */
#include "device/cuda_api.h"
#include "device/launch.h"

int
tcpx_launch_load(const struct tcpx_cuda_api *cu, struct CUmod_st **module)
{
	CUresult result = CUDA_ERROR_NOT_FOUND;

	for (const void *const *image = tcpx_unpack_images; *image; image++) {
		result = cu->cuModuleLoadData(module, *image);
		if (result == CUDA_SUCCESS)
			break;
	}
	return result;
}
