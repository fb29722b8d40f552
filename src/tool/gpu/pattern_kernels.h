/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.h for memory of a GPU: kernels as PTX text, to load with cuModuleLoadData(). Any
 * grid will do. Parameters are 64 bits each; key is that of struct pattern.
 */
#ifndef TOOL_PATTERN_KERNELS_H
#define TOOL_PATTERN_KERNELS_H

/* (mem, len, key, offset): bytes [offset, offset + len) of the stream to mem. */
#define PATTERN_KERNEL_FILL "tcpx_pattern_fill"
/* (mem, len, key, offset, wrong, first): adds the bytes that differ to *wrong and lowers
 * *first to the least stream offset of one. The caller sets them to 0 and UINT64_MAX. */
#define PATTERN_KERNEL_CHECK "tcpx_pattern_check"

/* Zero-terminated; see pattern_kernels.cu. */
extern const char pattern_ptx[];

#endif
