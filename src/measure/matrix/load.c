/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of /proc. The load of other processes is their user time alone: system time
 * includes kernel threads that work for this process. Idle and other counters may run
 * backwards: clamped.
 */
#include "measure/matrix/load.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
look_stat(struct matrix_look *look)
{
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	FILE *f = fopen("/proc/stat", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		double v[8] = { 0 };
		unsigned cpu;

		if (sscanf(line, "cpu%u %lf %lf %lf %*f %*f %lf %lf %lf", &cpu, &v[0], &v[1],
			   &v[2], &v[3], &v[4], &v[5]) < 6 || cpu >= MATRIX_CPUS_MAX)
			continue;
		look->user_s += (v[0] + v[1]) * tick; /* guest time is inside user time */
		look->system_s += (v[2] + v[3] + v[4]) * tick;
		look->steal_s += v[5] * tick;
		look->cpu_s[cpu] = (v[0] + v[1] + v[2] + v[3] + v[4]) * tick;
		look->soft_s[cpu] = (v[3] + v[4]) * tick;
		look->cpus = cpu + 1 > look->cpus ? cpu + 1 : look->cpus;
		look->online++;
	}
	if (f)
		fclose(f);
}

/* RetransSegs: the field of that name in the second of the two Tcp: lines. */
static double
look_retransmits(void)
{
	FILE *f = fopen("/proc/net/snmp", "re");
	char names[1024], values[1024];
	double v = -1;

	while (f && v < 0 && fgets(names, sizeof(names), f)) {
		char *name_rest = names, *value_rest = values, *name, *value;

		if (strncmp(names, "Tcp:", 4) || !fgets(values, sizeof(values), f))
			continue;
		while ((name = strsep(&name_rest, " \n")) && (value = strsep(&value_rest, " \n")))
			if (!strcmp(name, "RetransSegs"))
				v = strtod(value, NULL);
	}
	if (f)
		fclose(f);
	return v;
}

static void
look_irqs(struct matrix_look *look)
{
	DIR *dir = opendir("/proc/irq");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		unsigned long irq = strtoul(entry->d_name, NULL, 10);
		char path[300], line[1024];
		uint32_t hash = 2166136261u;
		FILE *f;

		if (!isdigit((unsigned char)entry->d_name[0]) || irq >= MATRIX_IRQS_MAX)
			continue;
		snprintf(path, sizeof(path), "/proc/irq/%s/smp_affinity_list", entry->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(line, sizeof(line), f)) {
			for (const char *c = line; *c; c++)
				hash = (hash ^ (unsigned char)*c) * 16777619u;
			look->irq[irq] = hash ? hash : 1;
		}
		fclose(f);
	}
	if (dir)
		closedir(dir);
}

void
matrix_look_now(struct matrix_look *look)
{
	*look = (struct matrix_look){ .cpus = 0 };
	look_stat(look);
	look->retransmits = look_retransmits();
	look_irqs(look);
}

void
matrix_load_between(const struct matrix_look *before, const struct matrix_look *after,
		    double seconds, double own_user_s, struct matrix_load *out)
{
	double all = seconds * (double)(after->online ? after->online : 1), soft = 0;
	size_t at = 0;

	*out = (struct matrix_load){ .busiest_cpu = -1, .retransmits = -1 };
	if (!(all > 0))
		return;
	out->user_s = fmax(0, after->user_s - before->user_s);
	out->system_s = fmax(0, after->system_s - before->system_s);
	out->steal = fmin(1, fmax(0, after->steal_s - before->steal_s) / all);
	out->background = fmin(1, fmax(0, out->user_s - own_user_s) / all);
	for (size_t cpu = 0; cpu < after->cpus; cpu++) {
		double busy = fmax(0, after->cpu_s[cpu] - before->cpu_s[cpu]) / seconds;

		soft += fmax(0, after->soft_s[cpu] - before->soft_s[cpu]);
		if (busy > out->busiest) {
			out->busiest = fmin(busy, 1);
			out->busiest_cpu = (int)cpu;
		}
	}
	out->soft = soft / all;
	if (before->retransmits >= 0 && after->retransmits >= 0)
		out->retransmits = fmax(0, after->retransmits - before->retransmits);
	for (size_t irq = 0; irq < MATRIX_IRQS_MAX; irq++) {
		/* an IRQ that came or went is another device's business */
		if (!before->irq[irq] || !after->irq[irq] || before->irq[irq] == after->irq[irq])
			continue;
		if (at + 8 < sizeof(out->drift))
			at += (size_t)snprintf(out->drift + at, sizeof(out->drift) - at, "%s%zu",
					       at ? " " : "", irq);
		out->drifted++;
	}
}
