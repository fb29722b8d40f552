/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment variables that a result may show: those of known prefixes, and never the
 * value of one whose name says that it is a secret.
 */
#ifndef TOOL_ENVLIST_H
#define TOOL_ENVLIST_H

#include <stdbool.h>
#include <stddef.h>

#define ENVLIST_HIDDEN "(hidden)"

/* Do the first @len bytes of @name contain SECRET, KEY, TOKEN or PASSWORD, in any case? */
bool envlist_is_secret(const char *name, size_t len);

/* Calls @fn for each variable of @environ (NAME=VALUE, ..., NULL) that begins with TCPX_,
 * UCCL_ or NCCL_, sorted by name; @value is ENVLIST_HIDDEN for a secret. */
void envlist_each(char *const *environ,
		  void (*fn)(void *arg, const char *name, const char *value), void *arg);

#endif
