/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where NIXL looks for plugins, and what a plugin of ours answers there. NIXL comes as Python
 * packages, nixl_cu12 and its like, or built from source; its plugins lie beside its library.
 * NIXL_PLUGIN_DIR names one folder instead of that.
 */
#ifndef TUNE_DOCTOR_NIXL_H
#define TUNE_DOCTOR_NIXL_H

#include <stdbool.h>

#include "tune/info/machine.h"

#define NIXL_PLACES 16
#define NIXL_PLUGIN "libplugin_TCPX.so"

struct nixl_place {
	char package[64]; /* "nixl_cu12", "libnixl.so", "NIXL_PLUGIN_DIR" */
	char dir[512];    /* of plugins                                   */
	char file[24];    /* our plugin there, or a link of UCX's name to it; "" none */
	bool is_there;    /* the folder                                               */
};

/* The folders in which this machine's NIXLs look, the one of the variable first: others are then
 * not looked at. Returns their number; 0: no NIXL. */
unsigned nixl_places(const struct machine *m, struct nixl_place out[NIXL_PLACES]);

/* The folder into which our plugin was installed; false: none of the usual ones. */
bool nixl_installed(const struct machine *m, char *dir, size_t cap);

struct nixl_answer {
	bool loads;
	char name[64], version[64];
	char why[256]; /* it does not load: the loader's words */
};

/* Loads the file in a child process and asks it. */
void nixl_ask(const char *file, struct nixl_answer *out);

#endif
