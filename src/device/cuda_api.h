/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA driver's interface that is used. It is found at run time: a build needs no
 * header of the vendor, and without a driver everything else works.
 */
#ifndef DEVICE_CUDA_API_H
#define DEVICE_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* As in the driver's own header; a CUdevice is the handle of an ordinal. */
typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;

enum tcpx_cuda_result {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_STUB_LIBRARY = 34,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_NOT_SUPPORTED = 801,
};

enum tcpx_cuda_pointer_attribute {
	CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, /* unsigned: 1 host, 2 a GPU's, 0 unknown   */
	CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,  /* bool                                     */
	CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
	CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
	CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
};

enum tcpx_cuda_device_attribute {
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
	CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124,
};

#define CU_MEMORYTYPE_HOST	    1u
#define CU_MEMORYTYPE_DEVICE	    2u
#define CU_MEMHOSTALLOC_PORTABLE    1u
#define CU_MEMHOSTALLOC_DEVICEMAP   2u
#define CU_MEMHOSTREGISTER_PORTABLE 1u
#define CU_MEMHOSTREGISTER_DEVICEMAP 2u
#define CU_STREAM_NON_BLOCKING	    1u
#define CU_EVENT_DISABLE_TIMING	    2u
#define CU_STREAM_WAIT_VALUE_GEQ    0u
#define CU_DMA_BUF_FD		    1

/*
 * X(name, symbol, parameters): symbols are those of the interface's second version where it
 * has one. Those of TCPX_CUDA_OPTIONAL are NULL in an older driver.
 */
#define TCPX_CUDA_REQUIRED(X)                                                                 \
	X(cuInit, cuInit, (unsigned flags))                                                   \
	X(cuDriverGetVersion, cuDriverGetVersion, (int *version))                             \
	X(cuGetErrorName, cuGetErrorName, (CUresult result, const char **text))               \
	X(cuGetErrorString, cuGetErrorString, (CUresult result, const char **text))           \
	X(cuDeviceGetCount, cuDeviceGetCount, (int *count))                                   \
	X(cuDeviceGet, cuDeviceGet, (CUdevice *device, int ordinal))                          \
	X(cuDeviceGetName, cuDeviceGetName, (char *name, int cap, CUdevice device))           \
	X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *id, int cap, CUdevice device))     \
	X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))            \
	X(cuDeviceGetAttribute, cuDeviceGetAttribute,                                         \
	  (int *value, int attribute, CUdevice device))                                       \
	X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer,                                       \
	  (int *can, CUdevice device, CUdevice peer))                                         \
	X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,                                 \
	  (CUcontext *context, CUdevice device))                                              \
	X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device))         \
	X(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext context))                         \
	X(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *context))                          \
	X(cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext *context))                             \
	X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))     \
	X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr *ptr, size_t size))                         \
	X(cuMemFree, cuMemFree_v2, (CUdeviceptr ptr))                                         \
	X(cuMemHostAlloc, cuMemHostAlloc, (void **ptr, size_t size, unsigned flags))          \
	X(cuMemFreeHost, cuMemFreeHost, (void *ptr))                                          \
	X(cuMemHostRegister, cuMemHostRegister_v2, (void *ptr, size_t size, unsigned flags))  \
	X(cuMemHostUnregister, cuMemHostUnregister, (void *ptr))                              \
	X(cuMemsetD8, cuMemsetD8_v2, (CUdeviceptr dst, unsigned char byte, size_t len))       \
	X(cuMemsetD8Async, cuMemsetD8Async,                                                   \
	  (CUdeviceptr dst, unsigned char byte, size_t len, CUstream stream))                 \
	X(cuMemcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t len))      \
	X(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t len))            \
	X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                            \
	  (CUdeviceptr dst, const void *src, size_t len, CUstream stream))                    \
	X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                            \
	  (void *dst, CUdeviceptr src, size_t len, CUstream stream))                          \
	X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                            \
	  (CUdeviceptr dst, CUdeviceptr src, size_t len, CUstream stream))                    \
	X(cuMemcpyAsync, cuMemcpyAsync,                                                       \
	  (CUdeviceptr dst, CUdeviceptr src, size_t len, CUstream stream))                    \
	X(cuPointerGetAttributes, cuPointerGetAttributes,                                     \
	  (unsigned count, int *attribute, void **value, CUdeviceptr ptr))                    \
	X(cuStreamCreate, cuStreamCreate, (CUstream *stream, unsigned flags))                 \
	X(cuStreamCreateWithPriority, cuStreamCreateWithPriority,                             \
	  (CUstream *stream, unsigned flags, int priority))                                   \
	X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange,                           \
	  (int *least, int *greatest))                                                        \
	X(cuStreamDestroy, cuStreamDestroy_v2, (CUstream stream))                             \
	X(cuStreamQuery, cuStreamQuery, (CUstream stream))                                    \
	X(cuStreamSynchronize, cuStreamSynchronize, (CUstream stream))                        \
	X(cuStreamWaitEvent, cuStreamWaitEvent,                                               \
	  (CUstream stream, CUevent event, unsigned flags))                                   \
	X(cuStreamGetCtx, cuStreamGetCtx, (CUstream stream, CUcontext *context))              \
	X(cuEventCreate, cuEventCreate, (CUevent *event, unsigned flags))                     \
	X(cuEventRecord, cuEventRecord, (CUevent event, CUstream stream))                     \
	X(cuEventQuery, cuEventQuery, (CUevent event))                                        \
	X(cuEventSynchronize, cuEventSynchronize, (CUevent event))                            \
	X(cuEventElapsedTime, cuEventElapsedTime, (float *ms, CUevent start, CUevent end))    \
	X(cuEventDestroy, cuEventDestroy_v2, (CUevent event))                                 \
	X(cuModuleLoadData, cuModuleLoadData, (CUmodule *module, const void *image))          \
	X(cuModuleLoadDataEx, cuModuleLoadDataEx,                                             \
	  (CUmodule *module, const void *image, unsigned count, int *option, void **value))   \
	X(cuModuleUnload, cuModuleUnload, (CUmodule module))                                  \
	X(cuModuleGetFunction, cuModuleGetFunction,                                           \
	  (CUfunction *function, CUmodule module, const char *name))                          \
	X(cuLaunchKernel, cuLaunchKernel,                                                     \
	  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,            \
	   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,       \
	   CUstream stream, void **params, void **extra))                                     \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                        \
	  cuOccupancyMaxActiveBlocksPerMultiprocessor,                                        \
	  (int *blocks, CUfunction function, int block_threads, size_t shared_bytes))

#define TCPX_CUDA_OPTIONAL(X)                                                                 \
	X(cuStreamWriteValue64, cuStreamWriteValue64_v2,                                      \
	  (CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags))                \
	X(cuStreamWaitValue64, cuStreamWaitValue64_v2,                                        \
	  (CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags))                \
	X(cuMemGetInfo, cuMemGetInfo_v2, (size_t *left, size_t *total))                       \
	X(cuMemGetHandleForAddressRange, cuMemGetHandleForAddressRange,                       \
	  (void *handle, CUdeviceptr ptr, size_t size, int type, unsigned long long flags))

struct tcpx_cuda_api {
	void *library; /* of dlopen() */
	int gpus;      /* at least 1  */
#define MEMBER(name, symbol, params) CUresult(*name) params;
	TCPX_CUDA_REQUIRED(MEMBER)
	TCPX_CUDA_OPTIONAL(MEMBER)
#undef MEMBER
};

/* The driver's usual name. Passed as @library it is loaded; without @library it is only used if the
 * process has loaded it. */
#define TCPX_CUDA_LIBRARY "libcuda.so.1"

/* Finds the driver and starts it; library as in struct tcpx_device_params. -ENODEV: no
 * driver or no GPU (logged at INFO); -EINVAL: the named library is no such driver. */
int tcpx_cuda_api_load(const char *library, struct tcpx_cuda_api *api);
void tcpx_cuda_api_unload(struct tcpx_cuda_api *api);

/* Logs "what: CUDA_ERROR_... (code): text" and returns the code for it. */
int tcpx_cuda_fail(const struct tcpx_cuda_api *api, CUresult result, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
