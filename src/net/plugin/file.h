/* SPDX-License-Identifier: Apache-2.0 */
/* What dlopen() would hang or die on: a path that is no file, or an ELF file cut short. */
#ifndef NET_PLUGIN_FILE_H
#define NET_PLUGIN_FILE_H

#include <stddef.h>

/* 0, or -ELIBBAD with the reason in @why. A name without a slash, and what cannot be opened, is
 * left to dlopen(). */
int plug_file_check(const char *name, char *why, size_t cap);

#endif
