/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's behaviour with interrupts, as measured on 6.18. See simkernel.h. */
#include "simkernel.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
sim_init(struct sim *s, unsigned cpus)
{
	memset(s, 0, sizeof(*s));
	s->cpus = cpus;
	tcpx_cpuset_add_range(&s->online, 0, (int)cpus - 1);
	strcpy(s->boot_id, "11111111-2222-3333-4444-555555555555");
}

struct sim_irq *
sim_find(struct sim *s, unsigned irq)
{
	for (int i = 0; i < SIM_IRQS; i++)
		if (s->irqs[i].exists && s->irqs[i].irq == irq)
			return &s->irqs[i];
	return NULL;
}

struct sim_irq *
sim_add(struct sim *s, unsigned irq, const char *name, int64_t hwirq, int eff)
{
	for (int i = 0; i < SIM_IRQS; i++) {
		struct sim_irq *v = &s->irqs[i];

		if (v->exists)
			continue;
		*v = (struct sim_irq){ .exists = true, .irq = irq, .hwirq = hwirq, .mode = 0644,
				       .mask = s->online, .eff = eff };
		snprintf(v->name, sizeof(v->name), "%s", name);
		return v;
	}
	abort();
}

struct sim_queue *
sim_add_queue(struct sim *s, const char *nic, unsigned queue)
{
	for (int i = 0; i < SIM_QUEUES; i++) {
		struct sim_queue *q = &s->queues[i];

		if (*q->nic)
			continue;
		snprintf(q->nic, sizeof(q->nic), "%s", nic);
		q->queue = queue;
		return q;
	}
	abort();
}

void
sim_fire(struct sim *s, unsigned irq)
{
	struct sim_irq *v = sim_find(s, irq);

	if (!v)
		return;
	v->counts[v->eff]++;
	if (!tcpx_cpuset_has(&v->mask, v->eff))
		v->eff = tcpx_cpuset_first(&v->mask);
}

void
sim_fire_all(struct sim *s)
{
	for (int i = 0; i < SIM_IRQS; i++)
		if (s->irqs[i].exists)
			sim_fire(s, s->irqs[i].irq);
}

void
sim_balance(struct sim *s)
{
	for (int i = 0; i < SIM_IRQS; i++) {
		struct sim_irq *v = &s->irqs[i];
		int cpu = (tcpx_cpuset_first(&v->mask) + 1) % (int)s->cpus;

		if (!v->exists || v->managed)
			continue;
		tcpx_cpuset_init(&v->mask);
		tcpx_cpuset_add(&v->mask, cpu);
	}
}

void
sim_free(struct sim *s, unsigned irq)
{
	struct sim_irq *v = sim_find(s, irq);

	if (v)
		v->exists = false;
}

void
sim_renumber(struct sim *s, unsigned from, unsigned to)
{
	struct sim_irq *v = sim_find(s, from);

	if (!v)
		return;
	v->irq = to;
	v->mask = s->online; /* as new */
}

/* One "first[-last[:used/group]]". Moves *text behind it. */
static int
parse_range(const struct sim *s, const char **text, struct tcpx_cpuset *set)
{
	unsigned long long n[4] = { 0 };
	static const char marks[] = "-:/";
	const char *at = *text;
	int parts = 0;

	if (!strncmp(at, "all", 3)) {
		tcpx_cpuset_add_range(set, 0, (int)s->cpus - 1);
		*text = at + 3;
		return 0;
	}
	for (; parts < 4; parts++) {
		char *end;

		if (*at == 'N') {
			n[parts] = s->cpus - 1;
			end = (char *)(uintptr_t)at + 1;
		} else {
			if (!isdigit((unsigned char)*at))
				return -EINVAL;
			errno = 0;
			n[parts] = strtoull(at, &end, 10);
			if (errno || n[parts] > UINT32_MAX)
				return -EOVERFLOW;
		}
		at = end;
		if (parts == 3 || *at != marks[parts])
			break;
		at++;
	}
	parts++;
	if (parts == 1)
		n[1] = n[0];
	if (parts == 3)
		return -EINVAL;
	if (parts < 4)
		n[2] = n[3] = 1;
	if (n[0] > n[1] || n[2] == 0 || n[3] == 0 || n[2] > n[3])
		return -EINVAL;
	if (n[1] >= s->cpus)
		return -ERANGE;
	for (unsigned long long cpu = n[0]; cpu <= n[1]; cpu++)
		if ((cpu - n[0]) % n[3] < n[2])
			tcpx_cpuset_add(set, (int)cpu);
	*text = at;
	return 0;
}

int
sim_parse_list(const struct sim *s, const char *text, struct tcpx_cpuset *set)
{
	tcpx_cpuset_init(set);
	for (;;) {
		int rc;

		while (*text == ',' || *text == ' ' || *text == '\t')
			text++;
		if (!*text || *text == '\n')
			break;
		rc = parse_range(s, &text, set);
		if (rc < 0)
			return rc;
		if (*text && !strchr(", \t\n", *text))
			return -EINVAL;
	}
	return 0;
}

int
sim_parse_mask(const struct sim *s, const char *text, struct tcpx_cpuset *set)
{
	char digits[TCPX_CPUS_MAX / 4 + 1];
	size_t len = 0, group = 0;

	tcpx_cpuset_init(set);
	for (; *text && *text != '\n'; text++) {
		if (*text == ',') {
			group = 0;
			continue;
		}
		if (!isxdigit((unsigned char)*text))
			return -EINVAL;
		if (++group > 8 || len >= sizeof(digits) - 1)
			return -EOVERFLOW;
		digits[len++] = *text;
	}
	for (size_t i = 0; i < len; i++) {
		char one[2] = { digits[len - 1 - i], 0 };
		unsigned long nibble = strtoul(one, NULL, 16);

		for (int b = 0; b < 4; b++) {
			if (!(nibble >> b & 1))
				continue;
			if (i * 4 + (size_t)b >= s->cpus)
				return -EOVERFLOW;
			tcpx_cpuset_add(set, (int)(i * 4) + b);
		}
	}
	return 0;
}

/* The effect of writing @set to a vector. */
static int
set_mask(struct sim *s, struct sim_irq *v, const struct tcpx_cpuset *set)
{
	if (v->managed)
		return -EPERM;
	if (!tcpx_cpuset_overlap(set, &s->online))
		return -EINVAL;
	v->mask = *set;
	return 0;
}

static int
effect(struct sim *s, const char *path, const char *text)
{
	struct tcpx_cpuset set;
	char file[32], nic[16];
	unsigned n;
	int rc;

	if (sscanf(path, "proc/irq/%u/%31s", &n, file) == 2) {
		struct sim_irq *v = sim_find(s, n);
		bool list = !strcmp(file, "smp_affinity_list");

		if (!v || (!list && strcmp(file, "smp_affinity")))
			return -ENOENT;
		if (v->managed)
			return -EPERM;
		rc = list ? sim_parse_list(s, text, &set) : sim_parse_mask(s, text, &set);
		return rc < 0 ? rc : set_mask(s, v, &set);
	}
	if (sscanf(path, "sys/class/net/%15[^/]/queues/tx-%u/%31s", nic, &n, file) == 3) {
		for (int i = 0; i < SIM_QUEUES; i++) {
			struct sim_queue *q = &s->queues[i];

			if (strcmp(q->nic, nic) || q->queue != n || q->single)
				continue;
			rc = sim_parse_mask(s, text, &set);
			if (rc == 0)
				q->mask = set;
			return rc;
		}
	}
	return -ENOENT;
}

static int
sim_write(struct tcpx_files *f, const char *path, const char *text)
{
	struct sim *s = f->kernel;
	unsigned k = ++s->writes;
	bool fails = s->fail_at && k >= s->fail_at &&
		     k < s->fail_at + (s->fail_count ? s->fail_count : 1);
	int rc;

	if (s->kill_at == k && !s->kill_after)
		_exit(SIM_KILLED);
	if (s->read_only)
		return -EROFS;
	if (fails && !s->fail_after)
		return -s->fail_errno;
	rc = s->lose_at == k ? 0 : effect(s, path, text);
	if (s->kill_at == k)
		_exit(SIM_KILLED);
	return fails ? -s->fail_errno : rc;
}

static int
say(char *buf, size_t cap, const char *text)
{
	size_t len = strlen(text);

	if (len >= cap)
		return -EFBIG;
	memcpy(buf, text, len + 1);
	return (int)len;
}

static int
say_set(char *buf, size_t cap, const struct tcpx_cpuset *set, bool hex)
{
	size_t len = hex ? tcpx_cpuset_format_mask(set, buf, cap) :
			   tcpx_cpuset_format(set, buf, cap);

	return len < cap ? (int)len : -EFBIG;
}

static int
read_irq(struct sim *s, struct sim_irq *v, const char *file, char *buf, size_t cap)
{
	struct tcpx_cpuset eff;
	char text[SIM_CPUS * 12];
	int len = 0;

	if (!strcmp(file, "smp_affinity_list") || !strcmp(file, "smp_affinity"))
		return say_set(buf, cap, &v->mask, !strstr(file, "list"));
	if (!strcmp(file, "effective_affinity_list") && !v->no_eff) {
		tcpx_cpuset_init(&eff);
		tcpx_cpuset_add(&eff, v->eff);
		return say_set(buf, cap, &eff, false);
	}
	if (!strcmp(file, "actions"))
		return say(buf, cap, v->name);
	if (!strcmp(file, "hwirq")) {
		snprintf(text, sizeof(text), "%" PRId64, v->hwirq);
		return say(buf, cap, text);
	}
	if (strcmp(file, "per_cpu_count"))
		return -ENOENT;
	for (unsigned i = 0; i < s->cpus; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%u", i ? "," : "",
				v->counts[i]);
	return say(buf, cap, text);
}

static int
sim_read(struct tcpx_files *f, const char *path, char *buf, size_t cap)
{
	struct sim *s = f->kernel;
	char file[32], nic[16];
	unsigned n;

	if (!strcmp(path, "sys/devices/system/cpu/online"))
		return say_set(buf, cap, &s->online, false);
	if (!strcmp(path, "proc/sys/kernel/random/boot_id"))
		return say(buf, cap, s->boot_id);
	if (sscanf(path, "proc/irq/%u/%31s", &n, file) == 2 ||
	    sscanf(path, "sys/kernel/irq/%u/%31s", &n, file) == 2)
		return sim_find(s, n) ? read_irq(s, sim_find(s, n), file, buf, cap) : -ENOENT;
	if (sscanf(path, "proc/%u/%31s", &n, file) == 2 && !strcmp(file, "comm"))
		return n == 1 ? say(buf, cap, "init") :
		       n == s->balancer ? say(buf, cap, "irqbalance") : -ENOENT;
	if (sscanf(path, "sys/class/net/%15[^/]/queues/tx-%u/%31s", nic, &n, file) == 3)
		for (int i = 0; i < SIM_QUEUES; i++)
			if (!strcmp(s->queues[i].nic, nic) && s->queues[i].queue == n &&
			    !s->queues[i].single)
				return say_set(buf, cap, &s->queues[i].mask, true);
	return -ENOENT;
}

static int
sim_list(struct tcpx_files *f, const char *dir, char *buf, size_t cap)
{
	struct sim *s = f->kernel;
	size_t len = 0;

	if (cap < 512)
		return -EFBIG;
	if (!strcmp(dir, "proc/irq")) {
		for (int i = 0; i < SIM_IRQS; i++)
			if (s->irqs[i].exists)
				len += (size_t)sprintf(buf + len, "%u", s->irqs[i].irq) + 1;
		len += (size_t)sprintf(buf + len, "default_smp_affinity") + 1;
	} else if (!strcmp(dir, "proc")) {
		len += (size_t)sprintf(buf + len, "1") + 1;
		if (s->balancer)
			len += (size_t)sprintf(buf + len, "%u", s->balancer) + 1;
		len += (size_t)sprintf(buf + len, "interrupts") + 1;
	} else {
		return -ENOENT;
	}
	buf[len] = '\0';
	return (int)len;
}

static int
sim_look(struct tcpx_files *f, const char *path, unsigned *mode, int *writing)
{
	struct sim *s = f->kernel;
	char text[TCPX_FILES_LONGEST];
	unsigned n;
	int rc = sim_read(f, path, text, sizeof(text));

	if (rc < 0)
		return rc;
	*mode = 0644;
	if (sscanf(path, "proc/irq/%u/", &n) == 1)
		*mode = sim_find(s, n)->mode;
	*writing = s->read_only ? -EROFS : 0;
	return 0;
}

static void
sim_wait(struct tcpx_files *f, unsigned ms)
{
	struct sim *s = f->kernel;

	while (ms-- > 0) {
		s->now_ms++;
		for (int i = 0; i < SIM_IRQS; i++)
			if (s->irqs[i].exists && s->irqs[i].every_ms &&
			    s->now_ms % s->irqs[i].every_ms == 0)
				sim_fire(s, s->irqs[i].irq);
		if (s->balancing && s->now_ms % 10000 == 0)
			sim_balance(s);
	}
}

static uint64_t
sim_now(struct tcpx_files *f)
{
	return ((struct sim *)f->kernel)->now_ms;
}

static const struct tcpx_files_ops ops = {
	sim_read, sim_write, sim_list, sim_look, sim_wait, sim_now,
};

struct tcpx_files
sim_files(struct sim *s)
{
	return (struct tcpx_files){ &ops, NULL, s, true };
}
