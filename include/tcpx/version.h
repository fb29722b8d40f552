/* SPDX-License-Identifier: Apache-2.0 */
/* The header's version, and what a declaration or a struct needs of the compiler. */
#ifndef TCPX_VERSION_H
#define TCPX_VERSION_H

/* Of this header; tcpx_version() has the library's. */
#define TCPX_VERSION_MAJOR 0
#define TCPX_VERSION_MINOR 1
#define TCPX_VERSION_PATCH 0
#define TCPX_VERSION_AT_LEAST(major, minor, patch)                                               \
	(TCPX_VERSION_MAJOR * 1000000 + TCPX_VERSION_MINOR * 1000 + TCPX_VERSION_PATCH >=         \
	 (major) * 1000000 + (minor) * 1000 + (patch))

#if defined(__GNUC__)
#define TCPX_API      __attribute__((visibility("default")))
#define TCPX_MUST_USE __attribute__((warn_unused_result))
#else
#define TCPX_API
#define TCPX_MUST_USE
#endif

/* Zeros, but for the struct's size. */
#ifdef __cplusplus
#define TCPX_SIZED(type) ([] { type t = type(); t.struct_size = sizeof(t); return t; }())
#else
#define TCPX_SIZED(type) { .struct_size = sizeof(struct type) }
#endif

#endif
