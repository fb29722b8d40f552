/* SPDX-License-Identifier: Apache-2.0 */
/* Reading specs. A line is cut into words in place; each kind of line has a function. */
#include "machine/spec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"
#include "machine/spec_line.h"

#define LINE_BYTES 65536 /* a list of thousands of CPUs fits */

struct reader {
	struct spec_line l;
	struct tcpx_machine m;
	struct tcpx_cpuset offline, small, allowed;
	bool allowed_given;
	struct {
		unsigned count;      /* numbers after "distance"; 0 none */
		uint8_t to[TCPX_HOST_NODES];
		int node;
	} distances[TCPX_HOST_NODES];
	unsigned distance_count;
};

static int
read_set(struct spec_line *r, const char *what, struct tcpx_cpuset *set)
{
	const char *text = tcpx_spec_word(r);

	if (!text)
		return tcpx_spec_bad(r, "%s needs a list of CPUs", what);
	if (!strcmp(text, "none")) {
		tcpx_cpuset_init(set);
		return 0;
	}
	if (tcpx_cpuset_parse(text, set))
		return tcpx_spec_bad(r, "%s \"%.80s\" is not a list of CPUs below %d", what, text,
			   TCPX_CPUS_MAX);
	return 0;
}

/* ---- node, cores ---- */

static int
read_node(struct reader *r)
{
	long long id, v;
	char *key, *list, *item;
	unsigned n = 0;
	int rc;

	rc = tcpx_spec_number(&r->l, "node", tcpx_spec_word(&r->l), 0, INT16_MAX, &id);
	if (rc)
		return rc;
	rc = tcpx_machine_add_node(&r->m, (int)id);
	if (rc)
		return tcpx_spec_bad(&r->l, "node %lld: %s", id, rc == -EEXIST ? "it is there already"
								 : "too many nodes");
	key = tcpx_spec_word(&r->l);
	if (!key)
		return 0;
	if (strcmp(key, "distance"))
		return tcpx_spec_bad(&r->l, "\"%.40s\" is not known of a node: distance", key);
	list = tcpx_spec_word(&r->l);
	while ((item = strsep(&list, ",")) != NULL) {
		if (n == TCPX_HOST_NODES)
			return tcpx_spec_bad(&r->l, "more than %d distances", TCPX_HOST_NODES);
		rc = tcpx_spec_number(&r->l, "distance", item, 1, 255, &v);
		if (rc)
			return rc;
		r->distances[r->distance_count].to[n++] = (uint8_t)v;
	}
	if (!n)
		return tcpx_spec_bad(&r->l, "distance needs numbers");
	r->distances[r->distance_count].node = (int)id;
	r->distances[r->distance_count++].count = n;
	return 0;
}

/* The CPUs of a list in its order; -1: too many. */
static int
read_order(const struct reader *r, char *list, uint16_t *cpus, unsigned *count)
{
	char *item;

	*count = 0;
	while ((item = strsep(&list, ",")) != NULL) {
		char *step_text = strchr(item, ':'), *last_text;
		long long first, last, step = 1;
		int rc;

		if (step_text)
			*step_text++ = '\0';
		last_text = strchr(item, '-');
		if (last_text)
			*last_text++ = '\0';
		rc = tcpx_spec_number(&r->l, "CPU", item, 0, TCPX_CPUS_MAX - 1, &first);
		last = first;
		if (rc == 0 && last_text)
			rc = tcpx_spec_number(&r->l, "CPU", last_text, first, TCPX_CPUS_MAX - 1, &last);
		if (rc == 0 && step_text)
			rc = tcpx_spec_number(&r->l, "step", step_text, 1, TCPX_CPUS_MAX, &step);
		for (; rc == 0 && first <= last; first += step) {
			if (*count == TCPX_CPUS_MAX)
				return tcpx_spec_bad(&r->l, "more than %d CPUs in a list", TCPX_CPUS_MAX);
			cpus[(*count)++] = (uint16_t)first;
		}
		if (rc)
			return rc;
	}
	return 0;
}

static int
read_l3(struct reader *r, long long *id, long long *each)
{
	char *key = tcpx_spec_word(&r->l), *value, *slash;
	int rc;

	*id = -1;
	*each = TCPX_CPUS_MAX;
	if (!key)
		return 0;
	if (strcmp(key, "l3"))
		return tcpx_spec_bad(&r->l, "\"%.40s\" is not known of cores: l3", key);
	value = tcpx_spec_word(&r->l);
	slash = value ? strchr(value, '/') : NULL;
	if (slash)
		*slash++ = '\0';
	rc = tcpx_spec_number(&r->l, "L3 group", value, 0, INT16_MAX, id);
	if (rc == 0 && slash)
		rc = tcpx_spec_number(&r->l, "cores of an L3 group", slash, 1, TCPX_CPUS_MAX, each);
	return rc;
}

static int
add_cores(struct reader *r, long long node, uint16_t *cpus, unsigned lists, unsigned count)
{
	long long l3, each;
	int rc = read_l3(r, &l3, &each);

	for (unsigned k = 0; rc == 0 && k < count; k++) {
		struct tcpx_machine_core core = { .node = (int)node, .l3 = -1,
						  .cpu_count = (uint16_t)lists };

		if (l3 >= 0)
			core.l3 = (int)(l3 + k / each);
		for (unsigned i = 0; i < lists; i++)
			core.cpu[i] = cpus[(size_t)i * TCPX_CPUS_MAX + k];
		rc = tcpx_machine_add_core(&r->m, &core);
		if (rc == -EEXIST)
			rc = tcpx_spec_bad(&r->l, "CPU %u, or one of its siblings, is of two cores", core.cpu[0]);
	}
	return rc;
}

static int
read_cores(struct reader *r)
{
	char *node_text = tcpx_spec_word(&r->l), *lists_text, *list;
	unsigned lists = 0, count = 0, n;
	uint16_t *cpus;
	long long node = -1;
	int rc = 0;

	if (!node_text || strcmp(node_text, "-"))
		rc = tcpx_spec_number(&r->l, "node of cores", node_text, 0, INT16_MAX, &node);
	if (rc)
		return rc;
	lists_text = tcpx_spec_word(&r->l);
	if (!lists_text)
		return tcpx_spec_bad(&r->l, "cores need lists of CPUs, as 0-51/104-155");
	cpus = calloc(TCPX_MACHINE_SIBLINGS, TCPX_CPUS_MAX * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	while (rc == 0 && (list = strsep(&lists_text, "/")) != NULL) {
		if (lists == TCPX_MACHINE_SIBLINGS) {
			rc = tcpx_spec_bad(&r->l, "more than %d CPUs a core", TCPX_MACHINE_SIBLINGS);
			break;
		}
		rc = read_order(r, list, cpus + (size_t)lists * TCPX_CPUS_MAX, &n);
		if (rc == 0 && lists && n != count)
			rc = tcpx_spec_bad(&r->l, "lists of %u and %u CPUs: each gives one to a core", count, n);
		count = n;
		lists++;
	}
	if (rc == 0)
		rc = add_cores(r, node, cpus, lists, count);
	free(cpus);
	return rc;
}

/* ---- the rest ---- */

static int
read_nic(struct reader *r)
{
	return tcpx_spec_read_nic(&r->l, &r->m);
}

static int
read_gpu(struct reader *r)
{
	return tcpx_spec_read_gpu(&r->l, &r->m);
}

static int
read_irq(struct reader *r)
{
	return tcpx_spec_read_irq(&r->l, &r->m);
}

static int
read_name(struct reader *r)
{
	return tcpx_spec_copy(&r->l, "name of the machine", tcpx_spec_word(&r->l), r->m.name,
			 sizeof(r->m.name));
}

static int
read_offline(struct reader *r)
{
	return read_set(&r->l, "offline", &r->offline);
}

static int
read_isolated(struct reader *r)
{
	return read_set(&r->l, "isolated", &r->m.isolated);
}

static int
read_small(struct reader *r)
{
	return read_set(&r->l, "small", &r->small);
}

static int
read_allowed(struct reader *r)
{
	r->allowed_given = true;
	return read_set(&r->l, "allowed", &r->allowed);
}

static int
read_line(struct reader *r)
{
	static const struct {
		const char *word;
		int (*read)(struct reader *r);
	} kinds[] = {
		{ "machine", read_name },   { "node", read_node },
		{ "cores", read_cores },    { "nic", read_nic },
		{ "irq", read_irq },        { "gpu", read_gpu },
		{ "offline", read_offline }, { "allowed", read_allowed },
		{ "isolated", read_isolated }, { "small", read_small },
	};
	char *first = tcpx_spec_word(&r->l), *more;
	int rc;

	for (size_t i = 0; first && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(first, kinds[i].word)) {
			rc = kinds[i].read(r);
			more = rc ? NULL : tcpx_spec_word(&r->l);
			return more ? tcpx_spec_bad(&r->l, "\"%.40s\" is too much", more) : rc;
		}
	return first ? tcpx_spec_bad(&r->l, "\"%.40s\" begins no line: machine, node, cores, nic, irq, "
				"gpu, offline, allowed, isolated, small", first) : 0;
}

static void
comment_cut(char *line)
{
	for (char *p = line; *p; p++)
		if (*p == '#' && (p == line || strchr(SPEC_BLANKS, p[-1]))) {
			*p = '\0';
			return;
		}
}

static int
read_lines(struct reader *r, const char *text)
{
	char *line = malloc(LINE_BYTES);
	int rc = line ? 0 : -ENOMEM;

	for (r->l.number = 1; rc == 0 && *text; r->l.number++) {
		size_t len = strcspn(text, "\n");

		if (len >= LINE_BYTES) {
			rc = tcpx_spec_bad(&r->l, "longer than %d bytes", LINE_BYTES - 1);
			break;
		}
		memcpy(line, text, len);
		line[len] = '\0';
		text += len + (text[len] == '\n');
		for (const char *p = line; *p && rc == 0; p++)
			if (((unsigned char)*p < ' ' && !strchr(SPEC_BLANKS, *p)) || *p == 0x7f)
				rc = tcpx_spec_bad(&r->l, "control character 0x%02x", *p);
		if (rc)
			break;
		comment_cut(line);
		r->l.rest = line;
		rc = read_line(r);
	}
	free(line);
	return rc;
}

static int
check_cpus(const struct reader *r, const char *what, const struct tcpx_cpuset *set,
	   const struct tcpx_cpuset *all)
{
	tcpx_cpuset_for_each(cpu, set)
		if (!tcpx_cpuset_has(all, cpu))
			return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s: %s names CPU %d, which is of "
					 "no core", r->l.what, what, cpu);
	return 0;
}

static int
check_nodes(const struct reader *r)
{
	for (unsigned i = 0; i < r->m.nic_count; i++)
		if (r->m.nics[i].place.numa >= 0 && tcpx_machine_node_find(&r->m, r->m.nics[i].place.numa) < 0)
			return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s: NIC %s is on node %d, which "
					 "has no line", r->l.what, r->m.nics[i].name,
					 r->m.nics[i].place.numa);
	for (unsigned i = 0; i < r->m.gpu_count; i++)
		if (r->m.gpus[i].place.numa >= 0 && tcpx_machine_node_find(&r->m, r->m.gpus[i].place.numa) < 0)
			return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s: GPU %d is on node %d, which "
					 "has no line", r->l.what, r->m.gpus[i].index,
					 r->m.gpus[i].place.numa);
	return 0;
}

/* Checks that need the whole text. */
static int
settle(struct reader *r)
{
	struct tcpx_machine *m = &r->m;
	int rc = check_cpus(r, "offline", &r->offline, &m->online);

	if (rc == 0)
		rc = check_cpus(r, "isolated", &m->isolated, &m->online);
	if (rc == 0)
		rc = check_cpus(r, "small", &r->small, &m->online);
	for (unsigned i = 0; i < m->core_count; i++)
		m->cores[i].small = tcpx_cpuset_has(&r->small, m->cores[i].cpu[0]);
	if (rc == 0 && r->allowed_given)
		rc = check_cpus(r, "allowed", &r->allowed, &m->online);
	if (rc)
		return rc;
	tcpx_cpuset_andnot(&m->online, &r->offline);
	m->allowed = r->allowed_given ? r->allowed : m->online;
	tcpx_cpuset_and(&m->allowed, &m->online);
	rc = tcpx_machine_finish(m);
	if (rc == -ERANGE)
		return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s: more than %d nodes", r->l.what,
				 TCPX_HOST_NODES);
	if (rc)
		return rc;
	for (unsigned i = 0; i < r->distance_count; i++) {
		if (r->distances[i].count != m->node_count)
			return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s: node %d has %u distances, and "
					 "there are %u nodes", r->l.what, r->distances[i].node,
					 r->distances[i].count, m->node_count);
		memcpy(m->nodes[tcpx_machine_node_find(m, r->distances[i].node)].distance,
		       r->distances[i].to, r->distances[i].count);
	}
	return check_nodes(r);
}

int
tcpx_spec_parse(const char *text, const char *what, struct tcpx_machine *out)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	tcpx_machine_init(&r->m);
	r->l.what = what;
	rc = read_lines(r, text);
	if (rc == 0)
		rc = settle(r);
	if (rc)
		tcpx_machine_fini(&r->m);
	else
		*out = r->m;
	free(r);
	return rc;
}

int
tcpx_spec_load(const char *path, struct tcpx_machine *out)
{
	size_t len;
	char *text;
	int rc = tcpx_io_slurp_file(path, TCPX_SPEC_BYTES, &text, &len);

	if (rc)
		return rc;
	if (strlen(text) != len)
		rc = tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s: not a text that can be read", path);
	else
		rc = tcpx_spec_parse(text, path, out);
	free(text);
	return rc;
}
