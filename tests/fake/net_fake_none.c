/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is no plugin. */
extern const int ncclNetPlugin_v5;

const int ncclNetPlugin_v5 = 5;
