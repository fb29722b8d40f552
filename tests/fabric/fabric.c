/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric: time, chance, NICs, faults, and the list of broken rules. Every random number
 * of the network comes from its one generator.
 */
#include "fabric/inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLION 1000000u

static uint64_t
fabric_clock_now(void *arg)
{
	return ((struct tcpx_fabric *)arg)->now_ns;
}

struct tcpx_fabric *
tcpx_fabric_new(uint64_t seed, const struct tcpx_fabric_script *script)
{
	struct tcpx_fabric *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	if (script)
		f->script = *script;
	if (f->script.fault_count) {
		f->faults = calloc(f->script.fault_count, sizeof(*f->faults));
		if (!f->faults) {
			free(f);
			return NULL;
		}
		memcpy(f->faults, script->faults, script->fault_count * sizeof(*f->faults));
		f->fault_count = script->fault_count;
	}
	f->script.faults = NULL;
	if (!f->script.segment_max)
		f->script.segment_max = 64 << 10;
	if (!f->script.buffer_bytes)
		f->script.buffer_bytes = 4 << 20;
	if (f->script.buffer_bytes < 2 * LOOP_HEAD_BYTES)
		f->script.buffer_bytes = 2 * LOOP_HEAD_BYTES;
	if (!f->script.fragment_max || f->script.fragment_max > LOOP_PAGE)
		f->script.fragment_max = LOOP_PAGE;
	f->now_ns = TCPX_SEC; /* 0 is "never" to many */
	f->clock = (struct tcpx_clock){ fabric_clock_now, f };
	f->rng = tcpx_rng_seed(seed);
	f->next_port = 20000;
	tcpx_node_init(&f->nics);
	tcpx_node_init(&f->links);
	tcpx_node_init(&f->listeners);
	tcpx_node_init(&f->chan_listeners);
	return f;
}

void
tcpx_fabric_free(struct tcpx_fabric *f)
{
	if (!f)
		return;
	tcpx_chain_each(n, after, &f->nics)
		free(tcpx_container(n, struct loop_nic, node));
	for (size_t i = 0; i < f->free_count; i++)
		free(f->free_page[i]);
	free(f->free_page);
	free(f->faults);
	free(f);
}

const struct tcpx_clock *
tcpx_fabric_clock(struct tcpx_fabric *f)
{
	return &f->clock;
}

uint64_t
tcpx_fabric_now(const struct tcpx_fabric *f)
{
	return f->now_ns;
}

static void
fault_happen(struct tcpx_fabric *f, const struct tcpx_fabric_fault *fault)
{
	switch (fault->kind) {
	case TCPX_FABRIC_CUT_CONTROL:
		tcpx_fabric_cut_control(f, fault->index);
		break;
	case TCPX_FABRIC_BREAK_CHANNEL:
		tcpx_fabric_break_channel(f, fault->index);
		break;
	case TCPX_FABRIC_NIC_DOWN:
	case TCPX_FABRIC_NIC_UP:
		tcpx_fabric_set_nic_up(f, &fault->addr, fault->kind == TCPX_FABRIC_NIC_UP);
		break;
	case TCPX_FABRIC_HOLD_CONTROL:
		tcpx_fabric_hold(f, TCPX_FABRIC_CONTROL, fault->for_ns);
		break;
	case TCPX_FABRIC_HOLD_DATA:
		tcpx_fabric_hold(f, TCPX_FABRIC_DATA, fault->for_ns);
		break;
	}
}

void
tcpx_fabric_advance(struct tcpx_fabric *f, uint64_t now_ns)
{
	if (now_ns > f->now_ns)
		f->now_ns = now_ns;
	for (uint32_t i = 0; i < f->fault_count;) {
		struct tcpx_fabric_fault fault = f->faults[i];

		if (fault.at_bytes || fault.at_ns > f->now_ns) {
			i++;
			continue;
		}
		f->faults[i] = f->faults[--f->fault_count];
		fault_happen(f, &fault);
	}
}

uint64_t
tcpx_fabric_next_ns(const struct tcpx_fabric *f)
{
	uint64_t next = LOOP_NEVER;

	for (uint32_t i = 0; i < f->fault_count; i++) {
		const struct tcpx_fabric_fault *fault = &f->faults[i];

		if (!fault->at_bytes && fault->at_ns > f->now_ns && fault->at_ns < next)
			next = fault->at_ns;
	}
	for (struct tcpx_node *n = f->links.next; n != &f->links; n = n->next) {
		uint64_t t = tcpx_link_next_ns(tcpx_container(n, struct loop_link, node));

		if (t < next)
			next = t;
	}
	return next;
}

uint64_t
tcpx_fabric_activity(const struct tcpx_fabric *f)
{
	return f->activity;
}

/* ---- chance ---------------------------------------------------------------------- */

bool
tcpx_fabric_chance(struct tcpx_fabric *f, uint32_t ppm)
{
	return ppm && tcpx_rng_below(&f->rng, MILLION) < ppm;
}

uint64_t
tcpx_fabric_delay(struct tcpx_fabric *f, enum tcpx_fabric_kind kind)
{
	uint64_t low = f->script.delay_min_ns[kind], high = f->script.delay_max_ns[kind];

	return high > low ? tcpx_rng_between(&f->rng, low, high) : low;
}

size_t
tcpx_fabric_part(struct tcpx_fabric *f, size_t len)
{
	if (len > 1 && tcpx_fabric_chance(f, f->script.short_ppm))
		return tcpx_rng_between(&f->rng, 1, len);
	return len;
}

void
tcpx_fabric_refuse_all(struct tcpx_fabric *f, bool all)
{
	f->script.refuse_ppm = all ? 1000000 : 0;
}

void
tcpx_fabric_calm(struct tcpx_fabric *f)
{
	f->script.cut_ppm = f->script.break_ppm = 0;
	f->script.refuse_ppm = f->script.hold_ppm = 0;
	memset(f->flip_ppm, 0, sizeof(f->flip_ppm));
	f->fault_count = 0;
}

void
tcpx_fabric_set_flips(struct tcpx_fabric *f, enum tcpx_fabric_kind kind, uint32_t ppm)
{
	f->flip_ppm[kind] = ppm;
}

uint64_t
tcpx_fabric_flips(const struct tcpx_fabric *f)
{
	return f->flips;
}

void
tcpx_fabric_flip(struct tcpx_fabric *f, enum tcpx_fabric_kind kind, void *data, size_t len)
{
	if (!len || !tcpx_fabric_chance(f, f->flip_ppm[kind]))
		return;
	((uint8_t *)data)[tcpx_rng_below(&f->rng, len)] ^= (uint8_t)(1u << tcpx_rng_below(&f->rng, 8));
	f->flips++;
}

/* ---- faults ---------------------------------------------------------------------- */

static struct loop_link *
nth_link(const struct tcpx_fabric *f, enum tcpx_fabric_kind kind, uint32_t n, uint32_t *count)
{
	*count = 0;
	for (struct tcpx_node *i = f->links.next; i != &f->links; i = i->next) {
		struct loop_link *l = tcpx_container(i, struct loop_link, node);

		if (l->kind == kind && tcpx_link_stands(l) && (*count)++ == n)
			return l;
	}
	return NULL;
}

uint32_t
tcpx_fabric_count(const struct tcpx_fabric *f, enum tcpx_fabric_kind kind)
{
	uint32_t count;

	nth_link(f, kind, UINT32_MAX, &count);
	return count;
}

static int
break_nth(struct tcpx_fabric *f, enum tcpx_fabric_kind kind, uint32_t n)
{
	uint32_t count;
	struct loop_link *l = nth_link(f, kind, n, &count);

	if (!l)
		return -ENOENT;
	tcpx_link_break(l, (int)tcpx_rng_below(&f->rng, 2));
	return 0;
}

int
tcpx_fabric_cut_control(struct tcpx_fabric *f, uint32_t n)
{
	return break_nth(f, TCPX_FABRIC_CONTROL, n);
}

int
tcpx_fabric_break_channel(struct tcpx_fabric *f, uint32_t n)
{
	return break_nth(f, TCPX_FABRIC_DATA, n);
}

void
tcpx_fabric_break_all(struct tcpx_fabric *f, bool reset)
{
	tcpx_chain_each(n, after, &f->links) {
		struct loop_link *l = tcpx_container(n, struct loop_link, node);

		if (!tcpx_link_stands(l))
			continue;
		l->reset_code = reset ? -ECONNRESET : 0;
		tcpx_link_break(l, 0);
	}
}

void
tcpx_fabric_hold(struct tcpx_fabric *f, enum tcpx_fabric_kind kind, uint64_t for_ns)
{
	if (f->now_ns + for_ns > f->held_ns[kind])
		f->held_ns[kind] = f->now_ns + for_ns;
}

/* ---- NICs ------------------------------------------------------------------------ */

bool
tcpx_addr_same_ip(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	return a->family == b->family && !memcmp(a->ip, b->ip, a->family == 6 ? 16 : 4);
}

struct loop_nic *
tcpx_fabric_nic(struct tcpx_fabric *f, const struct tcpx_addr *addr)
{
	struct loop_nic *nic;

	for (struct tcpx_node *n = f->nics.next; n != &f->nics; n = n->next) {
		nic = tcpx_container(n, struct loop_nic, node);
		if (tcpx_addr_same_ip(&nic->addr, addr))
			return nic;
	}
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return NULL;
	nic->addr = *addr;
	nic->addr.port = 0;
	nic->up = true;
	nic->Bps = f->script.nic_Bps;
	tcpx_chain_add(&f->nics, &nic->node);
	return nic;
}

int
tcpx_fabric_set_nic_up(struct tcpx_fabric *f, const struct tcpx_addr *addr, bool up)
{
	struct loop_nic *nic = tcpx_fabric_nic(f, addr);

	if (!nic)
		return -ENOMEM;
	nic->up = up;
	return 0;
}

/* ---- rules ----------------------------------------------------------------------- */

int
tcpx_fabric_blame(struct tcpx_fabric *f, const char *fmt, ...)
{
	va_list args;

	if (f->violations++ == 0) {
		va_start(args, fmt);
		vsnprintf(f->violation, sizeof(f->violation), fmt, args);
		va_end(args);
	}
	return TCPX_EFRAME;
}

uint32_t
tcpx_fabric_violations(const struct tcpx_fabric *f)
{
	return f->violations;
}

const char *
tcpx_fabric_violation(const struct tcpx_fabric *f)
{
	return f->violation;
}

int
tcpx_fabric_forbid(struct tcpx_fabric *f, const void *addr, size_t len)
{
	if (f->forbidden_count == LOOP_FORBIDDEN)
		return TCPX_ELIMIT;
	f->forbidden[f->forbidden_count++] = (struct loop_range){ addr, len };
	return 0;
}

bool
tcpx_fabric_is_forbidden(const struct tcpx_fabric *f, const void *addr, size_t len)
{
	const char *a = addr;

	for (uint32_t i = 0; i < f->forbidden_count; i++) {
		const struct loop_range *r = &f->forbidden[i];

		if (a < r->addr + r->len && r->addr < a + len)
			return true;
	}
	return false;
}

/* ---- pages ----------------------------------------------------------------------- */

uint8_t *
tcpx_fabric_page_get(struct tcpx_fabric *f)
{
	uint8_t *page;
	size_t pick;

	/* Room to give every page back is kept, so that giving back cannot fail. */
	if (f->free_count == 0) {
		if (f->page_count == f->free_cap) {
			size_t cap = f->free_cap ? 2 * f->free_cap : 64;
			uint8_t **more = realloc(f->free_page, cap * sizeof(*more));

			if (!more)
				return NULL;
			f->free_page = more;
			f->free_cap = cap;
		}
		page = malloc(LOOP_PAGE);
		if (page) {
			memset(page, LOOP_POISON, LOOP_PAGE);
			f->page_count++;
		}
		return page;
	}
	pick = tcpx_rng_below(&f->rng, f->free_count);
	page = f->free_page[pick];
	f->free_page[pick] = f->free_page[--f->free_count];
	return page;
}

void
tcpx_fabric_page_put(struct tcpx_fabric *f, uint8_t *page)
{
	memset(page, LOOP_POISON, LOOP_PAGE);
	f->free_page[f->free_count++] = page;
}
