/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cores of a group, and how they are cut. Of S cores, with
 * g GPUs and NICs of q RX queues:
 *
 *	head   min(2g, S/4); 1 at least from 8 cores on, to stay off the first one
 *	tail   min(q, S/3)
 *	TX     half of the rest, rounded down; RX the other half
 *
 * Workers come first. Head and tail give way (the larger one, the tail of two equal) until
 * two cores are left for workers, and until these are no fewer than in a smaller group.
 */
#include "host/plan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "host/home.h"

#define LOOK_BACK 12 /* head grows by whole cores each 4, tail each 3: the pattern repeats */

static int
least(int a, int b)
{
	return a < b ? a : b;
}

static int
most(int a, int b)
{
	return a > b ? a : b;
}

/* ---- the cut ---- */

struct cut {
	int head, tail, workers;
};

static struct cut
wish(int cores, const struct tcpx_plan_group *g, const struct tcpx_plan_options *o)
{
	struct cut c;

	c.head = least(most(2 * (int)g->gpus, cores >= 8), cores / 4);
	c.tail = least((int)g->queues, cores / 3);
	if (o->head >= 0)
		c.head = least(o->head, cores);
	if (o->tail >= 0)
		c.tail = least(o->tail, cores);
	c.workers = most(cores - c.head - c.tail, least(cores, 2));
	return c;
}

static void
cut_group(struct tcpx_plan_group *g, int cores, const struct tcpx_plan_options *o)
{
	struct cut c = wish(cores, g, o);

	for (int fewer = cores - 1; fewer > 0 && fewer > cores - LOOK_BACK; fewer--)
		c.workers = most(c.workers, wish(fewer, g, o).workers);
	while (cores - c.head - c.tail < c.workers)
		c.head > c.tail ? c.head-- : c.tail--;
	if ((o->head >= 0 && c.head != o->head) || (o->tail >= 0 && c.tail != o->tail))
		g->flags |= TCPX_PLAN_SHRUNK;
	g->head_cores = (unsigned)c.head;
	g->tail_cores = (unsigned)c.tail;
	g->tx_cores = (unsigned)(cores - c.head - c.tail) / 2;
	g->rx_cores = (unsigned)(cores - c.head - c.tail) - g->tx_cores;
}

static void
take(struct tcpx_cpuset *set, const struct tcpx_plan_cores *pool, unsigned from, unsigned count)
{
	for (unsigned i = from; i < from + count; i++)
		for (unsigned k = 0; k < pool->at[i].use; k++)
			tcpx_cpuset_add(set, pool->at[i].cpu[k]);
}

static void
fill_group(struct tcpx_plan_group *g, const struct tcpx_plan_cores *pool,
	   const struct tcpx_plan_options *o)
{
	struct tcpx_plan_options own = *o;
	unsigned at = 0;

	g->cores = pool->count;
	if (pool->small)
		g->flags |= TCPX_PLAN_SMALL;
	for (unsigned i = pool->small; i < pool->count; i++)
		g->flags |= pool->at[i].small ? TCPX_PLAN_ON_SMALL : 0;
	take(&g->pool, pool, 0, pool->count);
	if (g->cores == 1) {
		g->flags |= TCPX_PLAN_SHARED;
		g->tx_cores = g->rx_cores = 1;
		g->tx = g->rx = g->pool;
		return;
	}
	if (o->head >= 0)
		own.head = most(0, o->head - (int)pool->small);
	cut_group(g, (int)(pool->count - pool->small), &own);
	g->head_cores += pool->small;
	take(&g->head, pool, at, g->head_cores);
	at += g->head_cores;
	take(&g->tx, pool, at, g->tx_cores);
	at += g->tx_cores;
	take(&g->rx, pool, at, g->rx_cores);
	at += g->rx_cores;
	take(&g->tail, pool, at, g->tail_cores);
}

/* ---- groups ---- */

/* A plan that is being made. */
struct maker {
	const struct tcpx_machine *m;
	struct tcpx_plan *p;
	struct tcpx_cpuset isolated;  /* CPUs that would be usable if they were not isolated */
	int home[TCPX_MACHINE_NICS];  /* of each NIC of the plan: home.h                     */
};

static unsigned
local_gpus(const struct maker *k, int home)
{
	unsigned count = 0;

	for (unsigned i = 0; i < k->m->gpu_count; i++)
		count += tcpx_home_of_node(k->m, &k->p->usable, k->m->gpus[i].place.numa) == home;
	return count;
}

static unsigned
rx_queues(const struct tcpx_machine_nic *nic)
{
	unsigned queues = nic->queues_rx ? nic->queues_rx : nic->queues_tx;

	return queues ? queues : 1;
}

/* A new group over @pool, which the plan then owns; its NICs join(). */
static struct tcpx_plan_group *
add_group(struct maker *k, int node, unsigned flags, struct tcpx_plan_cores pool)
{
	struct tcpx_plan_group *g = &k->p->groups[k->p->group_count];

	k->p->orders[k->p->group_count++] = pool;
	g->node = node;
	g->flags = flags;
	return g;
}

static void
join(struct maker *k, struct tcpx_plan_group *g, unsigned nic)
{
	struct tcpx_plan_nic *n = &k->p->nics[nic];
	int at = tcpx_machine_nic_find(k->m, n->name);

	n->group = (unsigned)(g - k->p->groups);
	n->index = g->nic_count++;
	if (rx_queues(&k->m->nics[at]) > g->queues)
		g->queues = rx_queues(&k->m->nics[at]);
}

static int
slice_groups(struct maker *k, int node, unsigned flags, const struct tcpx_plan_cores *pool,
	     const unsigned *nics, unsigned count)
{
	unsigned gpus = local_gpus(k, node);

	for (unsigned i = 0; i < count; i++) {
		struct tcpx_plan_group *g;
		struct tcpx_plan_cores part;
		int rc = tcpx_plan_slice(pool, i, count, &part);

		if (rc)
			return rc;
		g = add_group(k, node, flags, part);
		g->gpus = (gpus + count - 1) / count;
		join(k, g, nics[i]);
		fill_group(g, &part, &k->p->options);
	}
	return 0;
}

/* Notes what is peculiar about the nodes of a group's NICs. */
static unsigned
place_flags(const struct maker *k, int home, const unsigned *nics, unsigned count)
{
	unsigned flags = 0;

	for (unsigned i = 0; i < count; i++) {
		int at = tcpx_machine_nic_find(k->m, k->p->nics[nics[i]].name);
		int node = k->m->node_count > 1 ? k->m->nics[at].place.numa : home;
		struct tcpx_cpuset own;

		tcpx_machine_node_cpus(k->m, node, &own);
		if (node < 0 && k->m->node_count > 1)
			flags |= TCPX_PLAN_NO_NODE;
		else if (node != home)
			flags |= TCPX_PLAN_OFF_NODE;
		if (tcpx_cpuset_overlap(&own, &k->isolated))
			flags |= TCPX_PLAN_ISOLATED;
	}
	if (home < 0 && !tcpx_cpuset_empty(&k->isolated))
		flags |= TCPX_PLAN_ISOLATED;
	return flags;
}

/* Plans the NICs of one home. */
static int
make_place(struct maker *k, int home, const unsigned *nics, unsigned count)
{
	bool partial = false, all = home < 0;
	unsigned flags = place_flags(k, home, nics, count);
	struct tcpx_plan_group *g;
	struct tcpx_plan_cores pool;
	int rc = tcpx_plan_cores_of(k->m, home, all, &k->p->usable, k->p->options.first_threads,
				    &pool, &partial);

	if (rc == 0 && !pool.count) { /* the only node has none of the cores */
		free(pool.at);
		rc = tcpx_plan_cores_of(k->m, home, true, &k->p->usable, k->p->options.first_threads,
					&pool, &partial);
	}
	if (rc)
		return rc;
	flags |= partial ? TCPX_PLAN_PARTIAL : 0;
	if (k->p->options.share_nic && pool.count - pool.small >= 2 * count) {
		rc = slice_groups(k, home, flags, &pool, nics, count);
		free(pool.at);
		return rc;
	}
	g = add_group(k, home, flags, pool);
	g->gpus = local_gpus(k, home);
	if (k->p->options.share_nic && count > 1)
		g->flags |= TCPX_PLAN_NOT_SLICED;
	for (unsigned i = 0; i < count; i++)
		join(k, g, nics[i]);
	fill_group(g, &pool, &k->p->options);
	return 0;
}

static void
find_homes(struct maker *k)
{
	bool taken[TCPX_MACHINE_NICS] = { false };
	int home[TCPX_MACHINE_NICS];

	for (unsigned i = 0; i < k->p->nic_count; i++)
		taken[tcpx_machine_nic_find(k->m, k->p->nics[i].name)] = true;
	tcpx_homes(k->m, &k->p->usable, taken, home);
	for (unsigned i = 0; i < k->p->nic_count; i++)
		k->home[i] = home[tcpx_machine_nic_find(k->m, k->p->nics[i].name)];
}

/* Homes in the order of their ids, each with CPUs of its own. */
static int
make_groups(struct maker *k)
{
	unsigned nics[TCPX_MACHINE_NICS];
	bool done[TCPX_MACHINE_NICS] = { false };

	find_homes(k);
	for (unsigned left = k->p->nic_count; left;) {
		unsigned count = 0;
		int home = INT_MAX, rc;

		for (unsigned i = 0; i < k->p->nic_count; i++)
			if (!done[i] && k->home[i] < home)
				home = k->home[i];
		for (unsigned i = 0; i < k->p->nic_count; i++)
			if (!done[i] && k->home[i] == home) {
				done[i] = true;
				nics[count++] = i;
			}
		rc = make_place(k, home, nics, count);
		if (rc)
			return rc;
		left -= count;
	}
	return 0;
}

/* ---- options ---- */

static bool
listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; *at; at += *at == ',') {
		size_t n = strcspn(at, ",");

		if (n == len && !memcmp(at, name, n))
			return true;
		at += n;
	}
	return false;
}

static int
check_names(const struct tcpx_machine *m, const char *list)
{
	for (const char *at = list; *at; at += *at == ',') {
		size_t n = strcspn(at, ",");
		char name[sizeof(m->nics[0].name)];

		if (n >= sizeof(name))
			n = sizeof(name) - 1;
		memcpy(name, at, n);
		name[n] = '\0';
		if (tcpx_machine_nic_find(m, name) < 0)
			return tcpx_fail(TCPX_SUB_HOST, -ENODEV, "plan for \"%s\": the machine has no "
					 "NIC \"%s\"", list, name);
		at += strcspn(at, ",");
	}
	return 0;
}

static int
choose_nics(struct maker *k, const char *list)
{
	struct tcpx_plan *p = k->p;
	int rc = list ? check_names(k->m, list) : 0;

	if (rc)
		return rc;
	if (!k->m->nic_count)
		return tcpx_fail(TCPX_SUB_HOST, -ENODEV, "plan: the machine has no NIC");
	p->nics = calloc(k->m->nic_count, sizeof(*p->nics));
	p->groups = calloc(k->m->nic_count, sizeof(*p->groups));
	p->orders = calloc(k->m->nic_count, sizeof(*p->orders));
	if (!p->nics || !p->groups || !p->orders)
		return -ENOMEM;
	for (unsigned i = 0; i < k->m->nic_count; i++) {
		const struct tcpx_machine_nic *from = &k->m->nics[i];
		struct tcpx_plan_nic *to = &p->nics[p->nic_count];

		if (list && *list && !listed(list, from->name))
			continue;
		memcpy(to->name, from->name, sizeof(to->name));
		to->queues_rx = from->queues_rx;
		to->queues_tx = from->queues_tx;
		p->nic_count++;
	}
	return 0;
}

static int
choose_cpus(struct maker *k, const struct tcpx_plan_options *o)
{
	struct tcpx_cpuset *usable = &k->p->usable;

	if (o->head < -1 || o->tail < -1 || (unsigned)o->policy >= TCPX_IRQ_POLICIES)
		return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "plan: head %d, tail %d, policy %d; head "
				 "and tail are cores from 0 on, or -1 for the rule", o->head,
				 o->tail, (int)o->policy);
	*usable = o->allow ? *o->allow : k->m->allowed;
	tcpx_cpuset_and(usable, &k->m->online);
	k->isolated = *usable;
	tcpx_cpuset_and(&k->isolated, &k->m->isolated);
	if (o->use_isolated)
		tcpx_cpuset_init(&k->isolated);
	tcpx_cpuset_andnot(usable, &k->isolated);
	if (tcpx_cpuset_empty(usable) || !k->m->core_count)
		return tcpx_fail(TCPX_SUB_HOST, -ENODEV, "plan: no CPU is online, allowed and not "
				 "isolated");
	return 0;
}

int
tcpx_plan_cpus(const struct tcpx_machine *m, const struct tcpx_plan_options *options,
	       struct tcpx_plan *out)
{
	struct tcpx_plan p = { .hash = tcpx_machine_hash(m), .options = *options };
	struct maker k = { .m = m, .p = &p };
	int rc = choose_cpus(&k, options);

	memcpy(p.machine, m->name, sizeof(p.machine));
	memcpy(p.boot_id, m->boot_id, sizeof(p.boot_id));
	for (int part = 0; part < TCPX_MACHINE_PARTS; part++)
		p.parts[part] = tcpx_machine_hash_part(m, (enum tcpx_machine_part)part);
	p.options.allow = NULL;
	p.options.nics = NULL;
	if (rc == 0)
		rc = choose_nics(&k, options->nics);
	if (rc == 0)
		rc = make_groups(&k);
	if (rc)
		tcpx_plan_fini(&p);
	else
		*out = p;
	return rc;
}

void
tcpx_plan_fini(struct tcpx_plan *p)
{
	for (unsigned i = 0; p->orders && i < p->group_count; i++)
		free(p->orders[i].at);
	free(p->orders);
	free(p->groups);
	free(p->nics);
	free(p->irqs);
	memset(p, 0, sizeof(*p));
}

const struct tcpx_plan_group *
tcpx_plan_of_nic(const struct tcpx_plan *p, const char *name)
{
	for (unsigned i = 0; i < p->nic_count; i++)
		if (!strcmp(p->nics[i].name, name))
			return &p->groups[p->nics[i].group];
	return NULL;
}
