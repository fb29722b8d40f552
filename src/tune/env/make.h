/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment for a job over GPUDirect-TCPX on a machine: Google's published values for
 * NCCL on A3-high, with this machine's NICs and the plan's CPUs. And that for NCCL over our plugin.
 */
#ifndef TUNE_ENV_MAKE_H
#define TUNE_ENV_MAKE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "tune/info/machine.h"

#define ENV_VARS 40
#define ENV_CHUNK 524288 /* bytes: one message with the published settings */
#define ENV_PREFIX "/run/tcpx"

struct env_var {
	const char *name, *why; /* static */
	char *value;            /* heap */
};

struct env_set {
	struct env_var var[ENV_VARS];
	unsigned count;
	char left_out[256];     /* missing variables, and the reason; "" nothing */
	char idle[512];         /* why the plugin does not start here with them; "" it does, or nccl was not asked */
	bool exclusive;         /* bindings are of the whole machine */
};

enum env_form { ENV_SH, ENV_JSON, ENV_DOCKER, ENV_SLURM, ENV_FORMS };
extern const char *const env_form_names[ENV_FORMS + 1]; /* NULL-terminated */

/* 0, or -ENOMEM. Bindings are left out where the machine's CPUs are unknown. */
int env_make(const struct machine *m, const struct tcpx_roles *roles, struct env_set *out);
/* For a job over NCCL and our plugin for it; @nics NULL: all that are usual. 0, -ENOMEM, or -ENOENT: the
 * plugin is not here, logged. */
int env_make_nccl(const char *nics, struct env_set *out);
void env_fini(struct env_set *set);

/* One of the forms but JSON. */
void env_print(FILE *f, const struct env_set *set, enum env_form form);
/* { "variables": { NAME: VALUE }, "why": { NAME: TEXT }, "left_out": TEXT or null } */
json_t *env_json(const struct env_set *set);
/* As a word of a shell, in single quotes if it needs them. */
void env_quote(FILE *f, const char *text);

#endif
