/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of TCPX_MAP. Here a GPU is a number and a NIC a word; proto/netmap.c
 * gives them meaning.
 */
#include "proto/netmap.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

static int
refuse(const char *text, const char *at, const char *why)
{
	return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "TCPX_MAP \"%s\": at \"%.40s\": %s; it is "
			 "like \"gpu0=eth1;gpu4=eth3,eth4\", GPUs 0 to %d, each once", text, at, why,
			 TCPX_NETMAP_GPUS - 1);
}

/* "gpu12=": its number, and *at behind it. -1: not of this form. */
static int
read_gpu(const char **at)
{
	const char *p = *at;
	unsigned gpu = 0, digits = 0;

	if (strncmp(p, "gpu", 3))
		return -1;
	for (p += 3; *p >= '0' && *p <= '9' && digits < 3; p++, digits++)
		gpu = gpu * 10 + (unsigned)(*p - '0');
	if (!digits || (digits > 1 && (*at)[3] == '0') || *p != '=' || gpu >= TCPX_NETMAP_GPUS)
		return -1;
	*at = p + 1;
	return (int)gpu;
}

/* Interface names of the kernel, and addresses (v6 too) that name a NIC. */
static bool
is_name_char(char c)
{
	return c > ' ' && c < 0x7f && c != '=' && c != ',' && c != ';' && c != '/' && c != '"';
}

static const char *
add_entry(struct tcpx_netmap_rules *r, int gpu, const char *name, size_t len)
{
	struct tcpx_netmap_entry *e = &r->entry[r->count];

	if (len == 0)
		return "a NIC is missing";
	if (len >= TCPX_NETMAP_NAME)
		return "the name of a NIC is too long";
	if (r->count == TCPX_NETMAP_ENTRIES)
		return "too many NICs";
	*e = (struct tcpx_netmap_entry){ .gpu = (uint8_t)gpu };
	memcpy(e->nic, name, len);
	for (uint32_t i = 0; i < r->count; i++)
		if (r->entry[i].gpu == gpu && !strcmp(r->entry[i].nic, e->nic))
			return "the NIC is there already";
	r->count++;
	return NULL;
}

/* Reads the NICs of one GPU; *at then stands on ";" or the end. */
static const char *
read_nics(struct tcpx_netmap_rules *r, int gpu, const char **at)
{
	const char *wrong;
	size_t len;

	for (;; (*at)++) {
		for (len = 0; is_name_char((*at)[len]); len++)
			;
		wrong = add_entry(r, gpu, *at, len);
		if (wrong)
			return wrong;
		*at += len;
		if (**at != ',')
			break;
	}
	return **at == ';' || !**at ? NULL : "not a character of a NIC's name";
}

int
tcpx_netmap_parse(const char *text, struct tcpx_netmap_rules *out)
{
	struct tcpx_netmap_rules r = { .count = 0 };
	const char *at = text, *begin, *wrong;
	uint32_t seen = 0;
	int gpu;

	while (*at) {
		begin = at;
		gpu = read_gpu(&at);
		if (gpu < 0)
			return refuse(text, begin, "\"gpuN=\" is wanted");
		if (seen >> gpu & 1)
			return refuse(text, begin, "the GPU is there already");
		seen |= 1u << gpu;
		wrong = read_nics(&r, gpu, &at);
		if (wrong)
			return refuse(text, at, wrong);
		at += *at == ';';
	}
	*out = r;
	return 0;
}

size_t
tcpx_netmap_format(const struct tcpx_netmap_rules *r, char *buf, size_t cap)
{
	size_t at = 0;

	if (cap)
		buf[0] = '\0';
	for (uint32_t i = 0; i < r->count; i++) {
		const struct tcpx_netmap_entry *e = &r->entry[i];
		char piece[TCPX_NETMAP_NAME + 16];
		bool same = i > 0 && e[-1].gpu == e->gpu;
		int n;

		n = same ? snprintf(piece, sizeof(piece), ",%s", e->nic) :
			   snprintf(piece, sizeof(piece), "%sgpu%u=%s", i ? ";" : "", e->gpu, e->nic);
		if (at < cap)
			snprintf(buf + at, cap - at, "%s", piece);
		at += (size_t)n;
	}
	return at;
}
