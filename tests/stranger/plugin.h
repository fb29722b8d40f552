/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin, loaded. */
#ifndef STRANGER_PLUGIN_H
#define STRANGER_PLUGIN_H

#include "abi.h"

/* Sets its environment, for mode "strict" or "faithful". */
void plugin_settings(const char *mode);

/* Loads it and calls init. NULL, with a line on stderr, where it cannot be used. */
const struct net_table *plugin_load(const char *path, int *devices);

/* 0, or -1 with a line on stderr: call WHAT returned RESULT. */
int plugin_said(const char *what, int result);

#endif
