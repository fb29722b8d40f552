/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the text of a snapshot, which may come from anywhere. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "host/io.h"
#include "tune/record/snapshot_part.h"

#define NICS 4096
#define VECTORS 65536
#define WORDS 9

struct reader {
	const char *what;
	unsigned line;
	struct tcpx_snapshot *snap;
	char *word[WORDS];
	unsigned words;
};

static int
bad(const struct reader *r, const char *why)
{
	return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s line %u: %s", r->what, r->line, why);
}

/* Adds one to an array, zeroed; NULL: no memory, or too many. */
static void *
add(void **array, unsigned *count, unsigned max, size_t size)
{
	char *larger = *count < max ? realloc(*array, (*count + 1) * size) : NULL;

	if (!larger)
		return NULL;
	*array = larger;
	return memset(larger + (*count)++ * size, 0, size);
}

static bool
take_int(const char *text, int64_t low, int64_t high, int64_t *value)
{
	uint64_t v;
	bool negative = *text == '-';

	if (tcpx_parse_count(text + negative, &v) < 0 || v > INT64_MAX)
		return false;
	*value = negative ? -(int64_t)v : (int64_t)v;
	return *value >= low && *value <= high;
}

static bool
take_set(const char *text, bool *known, struct tcpx_cpuset *set)
{
	tcpx_cpuset_init(set);
	*known = strcmp(text, "-") != 0;
	if (!*known || !strcmp(text, "none"))
		return true;
	return tcpx_cpuset_parse(text, set) == 0;
}

static int
read_text(struct reader *r)
{
	bool boot = !strcmp(r->word[0], "boot");
	char *to = boot ? r->snap->boot_id : r->snap->kernel;
	size_t room = boot ? sizeof(r->snap->boot_id) : sizeof(r->snap->kernel);

	if (r->words != 2 || strlen(r->word[1]) >= room)
		return bad(r, "one word is wanted, and not so long");
	strcpy(to, r->word[1]);
	return 0;
}

static int
read_times(struct reader *r)
{
	uint64_t *to = !strcmp(r->word[0], "time") ? r->snap->time_ns : r->snap->mono_ns;
	uint64_t v[2];

	if (r->words != 3 || tcpx_parse_count(r->word[1], &v[0]) < 0 ||
	    tcpx_parse_count(r->word[2], &v[1]) < 0 || v[1] < v[0])
		return bad(r, "a beginning and an end in ns are wanted");
	memcpy(to, v, sizeof(v));
	return 0;
}

static int
read_node(struct reader *r)
{
	struct tcpx_host_node *node;
	struct tcpx_cpuset set;
	bool known;
	int64_t id;

	if (r->words != 3 || !take_int(r->word[1], 0, INT32_MAX, &id) ||
	    !take_set(r->word[2], &known, &set) || !known)
		return bad(r, "a node's id and CPUs are wanted");
	node = add((void **)&r->snap->nodes, &r->snap->node_count, TCPX_HOST_NODES,
		   sizeof(*node));
	if (!node)
		return bad(r, "too many nodes");
	*node = (struct tcpx_host_node){ .id = (int)id, .cpus = set };
	return 0;
}

static int
find_nic(const struct tcpx_snapshot *snap, const char *name)
{
	for (unsigned i = 0; i < snap->nic_count; i++)
		if (!strcmp(snap->nics[i].name, name))
			return (int)i;
	return -1;
}

static int
read_nic(struct reader *r)
{
	struct tcpx_snap_nic *nic;
	int64_t node;

	if (r->words != 4 || !take_int(r->word[2], -1, INT32_MAX, &node) ||
	    strlen(r->word[1]) >= sizeof(nic->name) || strlen(r->word[3]) >= sizeof(nic->driver))
		return bad(r, "a NIC's name, node and driver are wanted");
	if (find_nic(r->snap, r->word[1]) >= 0)
		return bad(r, "this NIC is there already");
	nic = add((void **)&r->snap->nics, &r->snap->nic_count, NICS, sizeof(*nic));
	if (!nic)
		return bad(r, "too many NICs");
	nic->node = (int)node;
	strcpy(nic->name, r->word[1]);
	if (strcmp(r->word[3], "-"))
		strcpy(nic->driver, r->word[3]);
	return 0;
}

static bool
take_kind(const char *text, enum tcpx_vector_kind *kind)
{
	for (unsigned i = 0; i < TCPX_VECTOR_KINDS; i++) {
		*kind = (enum tcpx_vector_kind)i;
		if (!strcmp(text, tcpx_vector_kind_name(*kind)))
			return true;
	}
	return false;
}

static bool
take_source(const char *text, enum tcpx_vector_source *source)
{
	for (unsigned i = 0; i < TCPX_VECTOR_SOURCES; i++) {
		*source = (enum tcpx_vector_source)i;
		if (!strcmp(text, tcpx_vector_source_name(*source)))
			return true;
	}
	return false;
}

static int
read_vector(struct reader *r)
{
	struct tcpx_snap_vector v = { .irq = 0 }, *to;
	int64_t irq, queue, movable;
	int nic;

	if (r->words != 9)
		return bad(r, "a vector has eight words behind the first");
	nic = find_nic(r->snap, r->word[2]);
	if (nic < 0)
		return bad(r, "a vector of a NIC that was not named before");
	if (!take_int(r->word[1], 0, INT32_MAX, &irq) || !take_kind(r->word[3], &v.kind) ||
	    !take_int(r->word[4], -1, UINT16_MAX, &queue) || !take_source(r->word[5], &v.source) ||
	    !take_int(r->word[6], 0, 1, &movable) ||
	    !take_set(r->word[7], &v.requested_known, &v.requested) ||
	    !take_set(r->word[8], &v.effective_known, &v.effective))
		return bad(r, "a vector is IRQ NIC KIND QUEUE SOURCE MOVABLE REQUESTED EFFECTIVE");
	v.irq = (uint32_t)irq;
	v.nic = (unsigned)nic;
	v.queue = (int)queue;
	v.movable = movable == 1;
	to = add((void **)&r->snap->vectors, &r->snap->vector_count, VECTORS, sizeof(*to));
	if (!to)
		return bad(r, "too many vectors");
	*to = v;
	return 0;
}

/* @left: bytes behind the line. Returns the bytes of the table, or -EINVAL. */
static int64_t
read_table(struct reader *r, const char *bytes, size_t left)
{
	uint64_t len;

	if (r->words != 3 || tcpx_parse_count(r->word[2], &len) < 0)
		return bad(r, "a table's name and number of bytes are wanted");
	if (len > left)
		return bad(r, "the table ends before its last byte: the file was cut");
	for (unsigned i = 0; i < TCPX_SNAP_TABLES; i++) {
		char *copy;

		if (strcmp(r->word[1], tcpx_snap_table_name(i)))
			continue;
		if (r->snap->table[i])
			return bad(r, "this table is there already");
		copy = malloc(len + 1);
		if (!copy)
			return bad(r, "no memory for the table");
		memcpy(copy, bytes, len);
		copy[len] = '\0';
		r->snap->table[i] = copy;
		r->snap->table_bytes[i] = len;
		return (int64_t)len;
	}
	return bad(r, "tables are interrupts, softirqs, stat and softnet");
}

static int
read_line(struct reader *r)
{
	static const struct {
		const char *word;
		int (*read)(struct reader *r);
	} lines[] = {
		{ "boot", read_text }, { "kernel", read_text }, { "time", read_times },
		{ "mono", read_times }, { "node", read_node }, { "nic", read_nic },
		{ "vector", read_vector },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strcmp(r->word[0], lines[i].word))
			return lines[i].read(r);
	return bad(r, "no such fact; boot, kernel, time, mono, node, nic, vector and table are");
}

static void
cut_words(struct reader *r, char *line)
{
	char *rest, *word;

	r->words = 0;
	for (word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (r->words < WORDS)
			r->word[r->words] = word;
		r->words++;
	}
}

static int
read_all(struct reader *r, const char *bytes, size_t len)
{
	size_t at = 0, line_len;
	const char *end;
	char *line;
	int64_t step;

	while (at < len) {
		end = memchr(bytes + at, '\n', len - at);
		r->line++;
		if (!end)
			return bad(r, "no newline at the end: the file was cut");
		line_len = (size_t)(end - bytes) - at;
		if (r->line == 1) {
			if (line_len != strlen(TCPX_SNAPSHOT_HEAD) ||
			    memcmp(bytes, TCPX_SNAPSHOT_HEAD, line_len))
				return bad(r, "not a snapshot: the first line is not \""
					   TCPX_SNAPSHOT_HEAD "\", nor that of proc/interrupts");
			at += line_len + 1;
			continue;
		}
		line = malloc(line_len + 1);
		if (!line)
			return bad(r, "no memory");
		memcpy(line, bytes + at, line_len);
		line[line_len] = '\0';
		at += line_len + 1;
		cut_words(r, line);
		if (r->words == 0)
			step = 0;
		else if (!strcmp(r->word[0], "table"))
			step = read_table(r, bytes + at, len - at);
		else
			step = read_line(r);
		free(line);
		if (step < 0)
			return (int)step;
		at += (size_t)step;
	}
	return r->line ? 0 : bad(r, "empty: not a snapshot");
}

/* A copy of proc/interrupts begins with the header of its columns. */
static bool
is_plain(const char *bytes, size_t len)
{
	while (len && *bytes == ' ') {
		bytes++;
		len--;
	}
	return len > 3 && !memcmp(bytes, "CPU", 3);
}

static int
read_plain(struct reader *r, const char *bytes, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return bad(r, "no memory for the table");
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	r->snap->table[TCPX_SNAP_INTERRUPTS] = copy;
	r->snap->table_bytes[TCPX_SNAP_INTERRUPTS] = len;
	return 0;
}

int
tcpx_snapshot_parse(const char *bytes, size_t len, const char *what, struct tcpx_snapshot *out)
{
	struct tcpx_snapshot snap = { .nic_count = 0 };
	struct reader r = { .what = what, .snap = &snap };
	int rc = is_plain(bytes, len) ? read_plain(&r, bytes, len) : read_all(&r, bytes, len);

	if (rc == 0)
		rc = tcpx_snapshot_tables(&snap, what);
	if (rc < 0) {
		tcpx_snapshot_fini(&snap);
		return rc;
	}
	tcpx_snapshot_sort(&snap);
	*out = snap;
	return 0;
}

int
tcpx_snapshot_load(const char *path, struct tcpx_snapshot *out)
{
	size_t len;
	char *text;
	int rc = tcpx_io_slurp_file(path, TCPX_SNAPSHOT_BYTES, &text, &len);

	if (rc < 0)
		return rc;
	rc = tcpx_snapshot_parse(text, len, path, out);
	free(text);
	return rc;
}
