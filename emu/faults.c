/* SPDX-License-Identifier: Apache-2.0 */
/* The table of faults, and the parser of their names. */
#include "emu/faults.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 2048

static const struct {
	const char *name;
	int64_t n, ms;
} table[] = {
#define X(name, text, n, ms, help) { text, n, ms },
	EMU_FAULTS(X)
#undef X
};

static const struct {
	const char *name;
	size_t offset;
} keys[] = {
	{ "comm", offsetof(struct emu_fault, comm) },
	{ "req", offsetof(struct emu_fault, req) },
	{ "byte", offsetof(struct emu_fault, byte) },
	{ "socket", offsetof(struct emu_fault, socket) },
	{ "n", offsetof(struct emu_fault, n) },
	{ "ms", offsetof(struct emu_fault, ms) },
};

const char *
emu_fault_name(enum emu_fault_kind kind)
{
	return table[kind].name;
}

static bool
key_parse(struct emu_fault *f, char *pair, char *why, unsigned cap)
{
	char *value = strchr(pair, '='), *end;
	int64_t number;

	if (value && !strncmp(pair, "role=", 5)) {
		f->role = !strcmp(value, "=send") ? EMU_SEND : EMU_RECV;
		if (f->role == EMU_SEND || !strcmp(value, "=recv"))
			return true;
	}
	for (unsigned i = 0; value && i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strlen(keys[i].name) != (size_t)(value - pair) ||
		    strncmp(keys[i].name, pair, (size_t)(value - pair)))
			continue;
		number = strtoll(value + 1, &end, 0);
		if (end == value + 1 || *end || number < 0)
			break;
		memcpy((char *)f + keys[i].offset, &number, sizeof(number));
		return true;
	}
	snprintf(why, cap, "\"%.40s\": allowed are comm=, req=, byte=, socket=, n=, ms= with a "
		 "number, role=send and role=recv", pair);
	return false;
}

static bool
fault_parse(struct emu_faults *all, char *text, char *why, unsigned cap)
{
	char *rest = text, *name = strsep(&rest, ":");
	struct emu_fault *f = &all->fault[all->count];

	if (all->count == EMU_FAULTS_MAX) {
		snprintf(why, cap, "at most %d faults", EMU_FAULTS_MAX);
		return false;
	}
	for (unsigned i = 0; i < EMU_FAULT_KINDS; i++) {
		if (strcmp(table[i].name, name))
			continue;
		*f = (struct emu_fault){ (enum emu_fault_kind)i, EMU_ANY, EMU_ANY, EMU_ANY,
					 EMU_ANY, table[i].n, table[i].ms, EMU_ANY };
		while (rest) {
			if (!key_parse(f, strsep(&rest, ","), why, cap))
				return false;
		}
		all->count++;
		return true;
	}
	snprintf(why, cap, "there is no fault \"%.40s\": docs/emulator.md names them", name);
	return false;
}

bool
emu_faults_parse(const char *text, struct emu_faults *f, char *why, unsigned cap)
{
	char copy[TEXT_MAX], *rest = copy, *one;

	f->count = 0;
	if (strlen(text) >= sizeof(copy)) {
		snprintf(why, cap, "more than %d characters", TEXT_MAX - 1);
		return false;
	}
	memcpy(copy, text, strlen(text) + 1);
	while ((one = strsep(&rest, "; \n"))) {
		if (*one && !fault_parse(f, one, why, cap))
			return false;
	}
	return true;
}

static bool
means(int64_t asked, int64_t which)
{
	return asked == EMU_ANY || which == EMU_ANY || asked == which;
}

const struct emu_fault *
emu_fault_find(const struct emu_faults *f, enum emu_fault_kind kind, enum emu_role role,
	       int64_t comm, int64_t req)
{
	for (unsigned i = 0; i < f->count; i++) {
		const struct emu_fault *one = &f->fault[i];

		if (one->kind == kind && means(one->role, role) && means(one->comm, comm) &&
		    means(one->req, req))
			return one;
	}
	return NULL;
}
