/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the trees. Shapes and links are those of sysfs; the numbers come from the text. */
#include "fixture.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEYS_MAX 24
#define PATH_BYTES 1024

/* One line: what, and its KEY=VALUE pairs. */
struct line {
	const char *what;
	unsigned count;
	char *key[KEYS_MAX], *value[KEYS_MAX];
};

void
fixture_init(struct fixture *f)
{
	/* thousands of files: in memory, where that is possible */
	snprintf(f->root, sizeof(f->root), "%s/tcpx-machine-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(f->root));
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

void
fixture_fini(struct fixture *f)
{
	assert_int_equal(nftw(f->root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* The path outside, its parents made. */
static const char *
place(struct fixture *f, const char *path, char *buf)
{
	snprintf(buf, PATH_BYTES, "%s/%s", f->root, path);
	for (char *p = buf + strlen(f->root) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdir(buf, 0755) < 0 && errno != EEXIST)
			fail_msg("mkdir %s: %s", buf, strerror(errno));
		*p = '/';
	}
	return buf;
}

static void
put(struct fixture *f, const char *path, const char *mode, const char *text)
{
	char buf[PATH_BYTES];
	FILE *file = fopen(place(f, path, buf), mode);

	if (!file)
		fail_msg("%s: %s", buf, strerror(errno));
	fprintf(file, "%s\n", text);
	fclose(file);
}

void
fixture_write(struct fixture *f, const char *path, const char *text)
{
	put(f, path, "w", text);
}

void
fixture_link(struct fixture *f, const char *path, const char *target)
{
	char buf[PATH_BYTES];

	if (symlink(target, place(f, path, buf)) < 0 && errno != EEXIST)
		fail_msg("link %s: %s", buf, strerror(errno));
}

static void __attribute__((format(printf, 3, 4)))
put_in(struct fixture *f, const char *dir, const char *fmt, ...)
{
	char file[PATH_BYTES], path[2 * PATH_BYTES], *text;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(file, sizeof(file), fmt, ap);
	va_end(ap);
	text = strchr(file, '=');
	*text++ = '\0';
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	put(f, path, "w", text);
}

/* From sys/<depth components> back to sys/, then @to. */
static void
link_back(struct fixture *f, const char *path, const char *to)
{
	char target[PATH_BYTES] = "";

	for (const char *p = path; (p = strchr(p, '/')) != NULL; p++)
		if (p > path + 3)
			strcat(target, "../");
	strcat(target, to);
	fixture_link(f, path, target);
}

static const char *
value_of(const struct line *l, const char *key, const char *otherwise)
{
	for (unsigned i = 0; i < l->count; i++)
		if (strcmp(l->key[i], key) == 0)
			return l->value[i];
	return otherwise;
}

static void
add_cpus(struct fixture *f, const struct line *l)
{
	char status[512];

	put_in(f, "sys/devices/system/cpu", "online=%s", value_of(l, "online", ""));
	snprintf(status, sizeof(status), "Name:\ttcpx\nCpus_allowed_list:\t%s\nThreads:\t1",
		 value_of(l, "allowed", ""));
	put(f, "proc/self/status", "w", status);
}

static void
add_node(struct fixture *f, const struct line *l)
{
	char dir[PATH_BYTES];

	snprintf(dir, sizeof(dir), "sys/devices/system/node/node%s", value_of(l, "id", "0"));
	put_in(f, dir, "cpulist=%s", value_of(l, "cpus", ""));
}

/* A device and the bridges above it; @dir gets its directory below the root. */
static void
add_pci(struct fixture *f, const struct line *l, const char *class, const char *vendor,
	char *dir)
{
	const char *at = value_of(l, "at", "");
	char path[PATH_BYTES + 64];

	snprintf(dir, PATH_BYTES, "sys/devices/%s", at);
	for (char *p = strchr(dir + strlen("sys/devices/"), '/'); p; p = strchr(p + 1, '/')) {
		char *end = strchr(p + 1, '/');

		snprintf(path, sizeof(path), "%.*s/subsystem",
			 (int)(end ? (size_t)(end - dir) : strlen(dir)), dir);
		link_back(f, path, "bus/pci");
	}
	put_in(f, dir, "class=%s", value_of(l, "class", class));
	put_in(f, dir, "vendor=%s", value_of(l, "vendor", vendor));
	put_in(f, dir, "device=%s", value_of(l, "device", "0x2330"));
	put_in(f, dir, "numa_node=%s", value_of(l, "node", "-1"));
	put_in(f, dir, "local_cpulist=%s", value_of(l, "cpus", ""));
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s", strrchr(dir, '/') + 1);
	link_back(f, path, dir + strlen("sys/"));
}

/* The directory of the device behind a NIC: PCI's own, or one below it. */
static void
add_nic_device(struct fixture *f, const struct line *l, char *dir)
{
	const char *driver = value_of(l, "driver", NULL), *below = value_of(l, "below", NULL);
	char path[2 * PATH_BYTES], target[128];

	add_pci(f, l, "0x020000", "0x1ae0", dir);
	if (below) {
		strcat(dir, "/");
		strcat(dir, below);
		snprintf(path, sizeof(path), "%s/subsystem", dir);
		fixture_write(f, "sys/bus/virtio/uevent", "");
		link_back(f, path, "bus/virtio");
	}
	if (driver) {
		snprintf(path, sizeof(path), "sys/bus/any/drivers/%s/uevent", driver);
		fixture_write(f, path, "");
		snprintf(path, sizeof(path), "%s/driver", dir);
		snprintf(target, sizeof(target), "bus/any/drivers/%s", driver);
		link_back(f, path, target);
	}
}

static void
add_queues(struct fixture *f, const char *dir, const char *kind, unsigned count)
{
	char path[3 * PATH_BYTES], made[PATH_BYTES];

	for (unsigned i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/queues/%s-%u/", dir, kind, i);
		place(f, path, made); /* the directory alone: nobody reads what is in it */
	}
}

/* What it belongs to, and what it stands on. */
static void
add_others(struct fixture *f, const struct line *l, const char *dir)
{
	const char *master = value_of(l, "master", NULL), *lower = value_of(l, "lower", NULL);
	char path[3 * PATH_BYTES], to[64];

	if (master) {
		snprintf(path, sizeof(path), "%s/master", dir);
		snprintf(to, sizeof(to), "class/net/%s", master);
		link_back(f, path, to);
	}
	if (lower) {
		snprintf(path, sizeof(path), "%s/lower_%s", dir, lower);
		snprintf(to, sizeof(to), "class/net/%s", lower);
		link_back(f, path, to);
	}
}

static void
add_nic(struct fixture *f, const struct line *l)
{
	const char *name = value_of(l, "name", "?");
	bool loopback = value_of(l, "loopback", NULL);
	char device[PATH_BYTES], dir[2 * PATH_BYTES], path[3 * PATH_BYTES];

	if (value_of(l, "at", NULL)) {
		add_nic_device(f, l, device);
		snprintf(dir, sizeof(dir), "%s/net/%s", device, name);
		snprintf(path, sizeof(path), "%s/device", dir);
		link_back(f, path, device + strlen("sys/"));
	} else {
		snprintf(dir, sizeof(dir), "sys/devices/virtual/net/%s", name);
	}
	put_in(f, dir, "operstate=%s", value_of(l, "state", loopback ? "unknown" : "up"));
	put_in(f, dir, "flags=%s", value_of(l, "flags", loopback ? "0x9" : "0x1003"));
	put_in(f, dir, "mtu=%s", value_of(l, "mtu", "1500"));
	put_in(f, dir, "speed=%s", value_of(l, "speed", "10000"));
	add_queues(f, dir, "rx", (unsigned)atoi(value_of(l, "rx", "1")));
	add_queues(f, dir, "tx", (unsigned)atoi(value_of(l, "tx", "1")));
	if (value_of(l, "kind", NULL))
		put_in(f, dir, "uevent=DEVTYPE=%s", value_of(l, "kind", NULL));
	if (value_of(l, "wlan", NULL))
		put_in(f, dir, "phy80211/index=%s", "0");
	if (value_of(l, "bridge", NULL))
		put_in(f, dir, "brport/state=%s", "3");
	snprintf(path, sizeof(path), "sys/class/net/%s", name);
	link_back(f, path, dir + strlen("sys/"));
	add_others(f, l, dir);

	for (unsigned i = 0; i < l->count; i++) {
		if (strcmp(l->key[i], "addr") != 0)
			continue;
		snprintf(path, sizeof(path), "%s %.*s %s", name, (int)strcspn(l->value[i], ","),
			 l->value[i], l->value[i] + strcspn(l->value[i], ","));
		put(f, "addresses", "a", path);
	}
}

static void
add_line(struct fixture *f, const struct line *l)
{
	char dir[PATH_BYTES];

	if (!strcmp(l->what, "cpus"))
		add_cpus(f, l);
	else if (!strcmp(l->what, "node"))
		add_node(f, l);
	else if (!strcmp(l->what, "nic"))
		add_nic(f, l);
	else if (!strcmp(l->what, "gpu"))
		add_pci(f, l, "0x030200", "0x10de", dir);
	else if (!strcmp(l->what, "pci"))
		add_pci(f, l, "0x000000", "0x0000", dir);
	else if (!strcmp(l->what, "file"))
		fixture_write(f, value_of(l, "path", ""), value_of(l, "text", ""));
	else if (!strcmp(l->what, "link"))
		fixture_link(f, value_of(l, "path", ""), value_of(l, "to", ""));
	else
		fail_msg("a machine has no \"%s\"", l->what);
}

/* "text" is the only key whose value may hold blanks: it goes to the end of the line. */
static void
parse_line(char *text, struct line *l)
{
	char *rest, *word;

	*l = (struct line){ .what = strtok_r(text, " ", &rest) };
	while (l->what && (word = strtok_r(NULL, " ", &rest)) != NULL) {
		char *equals = strchr(word, '=');

		if (!equals || l->count == KEYS_MAX)
			fail_msg("\"%s\" is not KEY=VALUE, or too many", word);
		*equals = '\0';
		l->key[l->count] = word;
		l->value[l->count++] = equals + 1;
		if (!strcmp(word, "text")) {
			if (rest && *rest)
				equals[1 + strlen(equals + 1)] = ' ';
			break;
		}
	}
}

void
fixture_add(struct fixture *f, const char *text)
{
	char *copy = strdup(text), *rest, *row;
	struct line l;

	assert_non_null(copy);
	for (row = strtok_r(copy, "\n", &rest); row; row = strtok_r(NULL, "\n", &rest)) {
		if (*row == '#')
			continue;
		parse_line(row, &l);
		if (l.what)
			add_line(f, &l);
	}
	free(copy);
}

void
fixture_add_machine(struct fixture *f, const char *name)
{
	char path[PATH_BYTES], text[16384];
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s.machine", TCPX_FIXTURES, name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[len] = '\0';
	fixture_add(f, text);
}
