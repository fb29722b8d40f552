/* SPDX-License-Identifier: Apache-2.0 */
/* The table of faults, and the parser of their names. */
#include "emu/faults.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 2048

static const struct {
	const char *name;
	int64_t n, ms, least, most;
	unsigned roles, keys;
} table[] = {
#define X(name, text, n, ms, least, most, roles, keys, help) { text, n, ms, least, most, roles, keys },
	EMU_FAULTS(X)
#undef X
};

static const struct {
	const char *name;
	size_t offset;
	unsigned bit; /* 0: of every fault */
} keys[] = {
	{ "comm", offsetof(struct emu_fault, comm), 0 },
	{ "req", offsetof(struct emu_fault, req), EMU_KEY_REQ },
	{ "byte", offsetof(struct emu_fault, byte), EMU_KEY_BYTE },
	{ "socket", offsetof(struct emu_fault, socket), EMU_KEY_SOCKET },
	{ "n", offsetof(struct emu_fault, n), EMU_KEY_N },
	{ "ms", offsetof(struct emu_fault, ms), EMU_KEY_MS },
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
		if (keys[i].bit && !(table[f->kind].keys & keys[i].bit)) {
			snprintf(why, cap, "%s takes no %s=", table[f->kind].name, keys[i].name);
			return false;
		}
		memcpy((char *)f + keys[i].offset, &number, sizeof(number));
		return true;
	}
	snprintf(why, cap, "\"%.40s\": allowed are comm=, req=, byte=, socket=, n=, ms= with a "
		 "number, role=send and role=recv", pair);
	return false;
}

/* Could it happen at all? */
static bool
is_possible(const struct emu_fault *f, unsigned sockets, char *why, unsigned cap)
{
	const char *name = table[f->kind].name;

	if (f->role != EMU_ANY && !(table[f->kind].roles & 1u << f->role))
		snprintf(why, cap, "%s happens to no %s comm", name,
			 f->role == EMU_SEND ? "send" : "receive");
	else if (f->socket != EMU_ANY && f->socket >= (int64_t)sockets)
		snprintf(why, cap, "%s:socket=%lld: a comm has %u sockets, from 0", name,
			 (long long)f->socket, sockets);
	else if (f->n < table[f->kind].least || f->n > table[f->kind].most)
		snprintf(why, cap, "%s:n=%lld: allowed are %lld to %lld", name, (long long)f->n,
			 (long long)table[f->kind].least, (long long)table[f->kind].most);
	else
		return true;
	return false;
}

static bool
fault_parse(struct emu_faults *all, unsigned sockets, char *text, char *why, unsigned cap)
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
		*f = (struct emu_fault){ .kind = (enum emu_fault_kind)i, .comm = EMU_ANY,
					 .req = EMU_ANY, .byte = EMU_ANY, .socket = EMU_ANY,
					 .n = table[i].n, .ms = table[i].ms, .role = EMU_ANY };
		snprintf(f->text, sizeof(f->text), "%s%s%s", name, rest ? ":" : "", rest ? rest : "");
		while (rest) {
			if (!key_parse(f, strsep(&rest, ","), why, cap))
				return false;
		}
		if (!is_possible(f, sockets, why, cap))
			return false;
		all->count++;
		return true;
	}
	snprintf(why, cap, "there is no fault \"%.40s\": docs/emulator.md names them", name);
	return false;
}

bool
emu_faults_parse(const char *text, unsigned sockets, struct emu_faults *f, char *why, unsigned cap)
{
	char copy[TEXT_MAX], *rest = copy, *one;

	f->count = 0;
	if (strlen(text) >= sizeof(copy)) {
		snprintf(why, cap, "more than %d characters", TEXT_MAX - 1);
		return false;
	}
	memcpy(copy, text, strlen(text) + 1);
	while ((one = strsep(&rest, "; \n"))) {
		if (*one && !fault_parse(f, sockets, one, why, cap))
			return false;
	}
	return true;
}

/* @which EMU_ANY: the place has no such number. */
static bool
means(int64_t asked, int64_t which)
{
	return asked == EMU_ANY || asked == which;
}

struct emu_fault *
emu_fault_find(struct emu_faults *f, enum emu_fault_kind kind, enum emu_role role, int64_t comm,
	       int64_t req)
{
	for (unsigned i = 0; i < f->count; i++) {
		struct emu_fault *one = &f->fault[i];

		if (one->kind == kind && means(one->role, role) && means(one->comm, comm) &&
		    means(one->req, req) && table[kind].roles & 1u << role)
			return one;
	}
	return NULL;
}

void
emu_fault_fired(struct emu_fault *f)
{
	atomic_fetch_add(&f->times, 1);
}

const char *
emu_faults_unfired(const struct emu_faults *f, unsigned *i)
{
	while (*i < f->count) {
		const struct emu_fault *one = &f->fault[(*i)++];

		if (!atomic_load(&one->times))
			return one->text;
	}
	return NULL;
}
