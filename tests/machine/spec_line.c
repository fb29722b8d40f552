/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a spec's line, and the lines of NICs, GPUs and vectors. */
#include "machine/spec_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

#define NO_FILES                                                                           \
	"%s: names, drivers and addresses are those of files, without \"/\"; a path has at " \
	"most 32 of them, the last one the device"

int
tcpx_spec_bad(const struct spec_line *l, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s, line %u: %s", l->what, l->number, text);
}

char *
tcpx_spec_word(struct spec_line *l)
{
	char *at = l->rest + strspn(l->rest, SPEC_BLANKS);
	size_t len = strcspn(at, SPEC_BLANKS);

	if (!len)
		return NULL;
	l->rest = at + len;
	if (*l->rest)
		*l->rest++ = '\0';
	return at;
}

int
tcpx_spec_number(const struct spec_line *l, const char *what, const char *text, long long low,
	    long long high, long long *value)
{
	uint64_t v;

	*value = 0;
	if (!text)
		return tcpx_spec_bad(l, "%s is missing", what);
	if (tcpx_parse_count(text, &v) || v > INT64_MAX || (long long)v < low ||
	    (long long)v > high)
		return tcpx_spec_bad(l, "%s \"%.40s\" is not a number from %lld to %lld", what, text,
				low, high);
	*value = (long long)v;
	return 0;
}

int
tcpx_spec_copy(const struct spec_line *l, const char *what, const char *text, char *out, size_t cap)
{
	if (!text)
		return tcpx_spec_bad(l, "%s is missing", what);
	if (strlen(text) >= cap)
		return tcpx_spec_bad(l, "%s \"%.80s\" has more than %zu bytes", what, text, cap - 1);
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

static int
read_u32(const struct spec_line *l, const char *key, const char *text, uint32_t *out)
{
	long long v;
	int rc = tcpx_spec_number(l, key, text, 0, 65535, &v);

	*out = (uint32_t)v;
	return rc;
}

static int
read_node(const struct spec_line *l, const char *text, int *out)
{
	long long v;
	int rc = tcpx_spec_number(l, "node", text, 0, INT16_MAX, &v);

	*out = (int)v;
	return rc;
}

static int
read_numa_source(const struct spec_line *l, const char *text, enum tcpx_numa_source *source)
{
	if (text && !strcmp(text, "device"))
		*source = TCPX_NUMA_FILE;
	else if (text && !strcmp(text, "cpus"))
		*source = TCPX_NUMA_CPULIST;
	else if (text && !strcmp(text, "only"))
		*source = TCPX_NUMA_ONLY;
	else
		return tcpx_spec_bad(l, "from \"%.40s\": device, cpus or only", text ? text : "");
	return 0;
}

/* The device is the last one of the path, unless it has been named before. */
static int
read_path(const struct spec_line *l, const char *text, char *path, char *pci)
{
	const char *last = text ? strrchr(text, '/') : NULL;
	int rc = tcpx_spec_copy(l, "path", text, path, TCPX_MACHINE_PATH);

	if (rc || *pci)
		return rc;
	if (!last)
		return tcpx_spec_bad(l, "path \"%.80s\": from the host bridge to the device, as "
				     "pci0000:00/0000:00:01.0/0000:06:00.0", text);
	return tcpx_spec_copy(l, "device of a path", last + 1, pci, 16);
}

int
tcpx_spec_read_nic(struct spec_line *l, struct tcpx_machine *m)
{
	struct tcpx_machine_nic nic = { .place = { .numa = -1, .numa_source = TCPX_NUMA_FILE } };
	char *key;
	int rc = tcpx_spec_copy(l, "name of a NIC", tcpx_spec_word(l), nic.name, sizeof(nic.name));

	while (rc == 0 && (key = tcpx_spec_word(l)) != NULL) {
		char *value = tcpx_spec_word(l);

		if (!strcmp(key, "node"))
			rc = read_node(l, value, &nic.place.numa);
		else if (!strcmp(key, "from"))
			rc = read_numa_source(l, value, &nic.place.numa_source);
		else if (!strcmp(key, "rx"))
			rc = read_u32(l, key, value, &nic.queues_rx);
		else if (!strcmp(key, "tx"))
			rc = read_u32(l, key, value, &nic.queues_tx);
		else if (!strcmp(key, "max"))
			rc = read_u32(l, key, value, &nic.queues_max);
		else if (!strcmp(key, "driver"))
			rc = tcpx_spec_copy(l, key, value, nic.driver, sizeof(nic.driver));
		else if (!strcmp(key, "pci"))
			rc = tcpx_spec_copy(l, key, value, nic.place.pci, sizeof(nic.place.pci));
		else if (!strcmp(key, "path"))
			rc = read_path(l, value, nic.place.path, nic.place.pci);
		else
			rc = tcpx_spec_bad(l, "\"%.40s\" is not known of a NIC: node, from, rx, tx, "
				      "max, driver, pci, path", key);
	}
	if (rc)
		return rc;
	if (nic.place.numa < 0)
		nic.place.numa_source = TCPX_NUMA_UNKNOWN;
	rc = tcpx_machine_add_nic(m, &nic);
	if (rc == -EEXIST)
		return tcpx_spec_bad(l, "NIC %s is there already", nic.name);
	if (rc == -EINVAL)
		return tcpx_spec_bad(l, NO_FILES, nic.name);
	return rc == -ERANGE ? tcpx_spec_bad(l, "more than %d NICs", TCPX_MACHINE_NICS) : rc;
}

int
tcpx_spec_read_gpu(struct spec_line *l, struct tcpx_machine *m)
{
	struct tcpx_machine_gpu gpu = { .place.numa = -1 };
	long long index;
	char *key;
	int rc = tcpx_spec_number(l, "index of a GPU", tcpx_spec_word(l), 0, INT16_MAX, &index);

	gpu.index = (int)index;
	while (rc == 0 && (key = tcpx_spec_word(l)) != NULL) {
		char *value = tcpx_spec_word(l);

		if (!strcmp(key, "node"))
			rc = read_node(l, value, &gpu.place.numa);
		else if (!strcmp(key, "pci"))
			rc = tcpx_spec_copy(l, key, value, gpu.place.pci, sizeof(gpu.place.pci));
		else if (!strcmp(key, "path"))
			rc = read_path(l, value, gpu.place.path, gpu.place.pci);
		else
			rc = tcpx_spec_bad(l, "\"%.40s\" is not known of a GPU: node, pci, path", key);
	}
	if (rc)
		return rc;
	rc = tcpx_machine_add_gpu(m, &gpu);
	if (rc == -EEXIST)
		return tcpx_spec_bad(l, "GPU %d is there already", gpu.index);
	if (rc == -EINVAL)
		return tcpx_spec_bad(l, NO_FILES, "GPU");
	return rc == -ERANGE ? tcpx_spec_bad(l, "more than %d GPUs", TCPX_MACHINE_GPUS) : rc;
}

/* ---- vectors ---- */

static int
word_of(const char *text, unsigned count, const char *(*name)(unsigned i))
{
	for (unsigned i = 0; text && i < count; i++)
		if (!strcmp(text, name(i)))
			return (int)i;
	return -1;
}

static const char *
kind_name(unsigned i)
{
	return tcpx_vector_kind_name((enum tcpx_vector_kind)i);
}

static const char *
source_name(unsigned i)
{
	return tcpx_vector_source_name((enum tcpx_vector_source)i);
}

/* A name with at most one "{5}": the text before, the number, the text behind. */
struct template {
	const char *head, *tail; /* tail NULL: head is all */
	size_t head_len;
	long long first;
};

static int
read_template(const struct spec_line *l, char *text, struct template *t)
{
	char *open = strchr(text, '{'), *close = strchr(text, '}');
	int rc;

	memset(t, 0, sizeof(*t));
	t->head = text;
	t->head_len = strlen(text);
	if (strpbrk(text, "\t\r"))
		return tcpx_spec_bad(l, "a tab in the name \"%.80s\"", text);
	if (!open && !close)
		return 0;
	if (!open || !close || close < open || strpbrk(close + 1, "{}") ||
	    strchr(open + 1, '{'))
		return tcpx_spec_bad(l, "name \"%.80s\": braces stand around one number, as {0}", text);
	*close = '\0';
	rc = tcpx_spec_number(l, "number in the name", open + 1, 0, INT32_MAX, &t->first);
	t->head_len = (size_t)(open - text);
	t->tail = close + 1;
	return rc;
}

static int
expand(const struct spec_line *l, const struct template *t, unsigned i, char *out, size_t cap)
{
	int n;

	if (t->tail)
		n = snprintf(out, cap, "%.*s%lld%s", (int)t->head_len, t->head, t->first + i,
			     t->tail);
	else
		n = snprintf(out, cap, "%s", t->head);
	return n < 0 || (size_t)n >= cap ? tcpx_spec_bad(l, "name of more than %zu bytes", cap - 1) : 0;
}

struct vectors {
	struct tcpx_machine_vector first;
	long long last_queue;
	char *name;      /* NULL: none */
};

static int
read_vector_words(struct spec_line *l, struct vectors *v)
{
	long long number;
	char *key;
	int rc = 0;

	while (rc == 0 && (key = tcpx_spec_word(l)) != NULL) {
		if (!strcmp(key, "name")) {
			v->name = l->rest + strspn(l->rest, SPEC_BLANKS);
			l->rest = v->name + strlen(v->name);
			while (l->rest > v->name && strchr(SPEC_BLANKS, l->rest[-1]))
				*--l->rest = '\0';
		} else if (!strcmp(key, "fixed")) {
			v->first.movable = false;
		} else if (!strcmp(key, "hwirq")) {
			rc = tcpx_spec_number(l, key, tcpx_spec_word(l), 0, INT32_MAX, &number);
			v->first.hwirq = number;
		} else if (!strcmp(key, "source")) {
			int i = word_of(tcpx_spec_word(l), TCPX_VECTOR_SOURCES, source_name);

			if (i < 0)
				rc = tcpx_spec_bad(l, "source: netdev, name, order, none or spec");
			v->first.source = (enum tcpx_vector_source)i;
		} else if (!strcmp(key, "chip")) {
			rc = tcpx_spec_copy(l, key, tcpx_spec_word(l), v->first.chip, sizeof(v->first.chip));
		} else {
			rc = tcpx_spec_bad(l, "\"%.40s\" is not known of an IRQ: hwirq, source, chip, "
				      "fixed, name", key);
		}
	}
	return rc;
}

/* NIC KIND [QUEUE[-QUEUE]] at IRQ */
static int
read_vector_head(struct spec_line *l, const struct tcpx_machine *m, struct vectors *v)
{
	char *nic = tcpx_spec_word(l), *word = tcpx_spec_word(l), *last;
	int kind = word_of(word, TCPX_VECTOR_KINDS, kind_name), rc = 0;
	long long number;

	if (!nic || tcpx_machine_nic_find(m, nic) < 0)
		return tcpx_spec_bad(l, "NIC \"%.40s\" has no line above", nic ? nic : "");
	if (kind < 0)
		return tcpx_spec_bad(l, "kind \"%.40s\": tx, rx, txrx, mgmt or unknown",
				word ? word : "");
	v->first.nic = (unsigned)tcpx_machine_nic_find(m, nic);
	v->first.kind = (enum tcpx_vector_kind)kind;
	v->first.queue = -1;
	v->last_queue = -1;
	word = tcpx_spec_word(l);
	if (word && strcmp(word, "at")) {
		last = strchr(word, '-');
		if (last)
			*last++ = '\0';
		rc = tcpx_spec_number(l, "queue", word, 0, 65535, &number);
		v->first.queue = (int)number;
		v->last_queue = number;
		if (rc == 0 && last)
			rc = tcpx_spec_number(l, "last queue", last, number, 65535, &v->last_queue);
		word = tcpx_spec_word(l);
	}
	if (rc)
		return rc;
	if (!word || strcmp(word, "at"))
		return tcpx_spec_bad(l, "an IRQ needs \"at NUMBER\"");
	rc = tcpx_spec_number(l, "IRQ", tcpx_spec_word(l), 0, INT32_MAX, &number);
	v->first.irq = (uint32_t)number;
	return rc;
}

int
tcpx_spec_read_irq(struct spec_line *l, struct tcpx_machine *m)
{
	struct vectors v = { .first = { .hwirq = -1, .source = TCPX_VECTOR_NOT,
					.movable = true } };
	struct template name = { .head = "" };
	unsigned count;
	int rc = read_vector_head(l, m, &v);

	if (rc == 0)
		rc = read_vector_words(l, &v);
	if (rc == 0 && v.name)
		rc = read_template(l, v.name, &name);
	count = (unsigned)(v.last_queue - v.first.queue) + 1;
	for (unsigned i = 0; rc == 0 && i < count; i++) {
		struct tcpx_machine_vector one = v.first;

		one.queue = v.first.queue < 0 ? -1 : v.first.queue + (int)i;
		one.irq += i;
		one.hwirq = v.first.hwirq < 0 ? -1 : v.first.hwirq + i;
		rc = expand(l, &name, i, one.name, sizeof(one.name));
		if (rc)
			return rc;
		rc = tcpx_machine_add_vector(m, &one);
		if (rc == -EEXIST)
			rc = tcpx_spec_bad(l, "IRQ %u is there already", one.irq);
		else if (rc == -ERANGE)
			rc = tcpx_spec_bad(l, "more than %d IRQs", TCPX_MACHINE_VECTORS);
	}
	return rc;
}
