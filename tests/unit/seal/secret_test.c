/* SPDX-License-Identifier: Apache-2.0 */
/* The secret's files: which are taken, what is said of the others, and what becomes of them. */
#include "seal_rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "seal/secret.h"

static char folder[] = "/tmp/tcpx-secret-XXXXXX";
static bool no_library;

void *__real_dlopen(const char *name, int how);
void *__wrap_dlopen(const char *name, int how);

void *
__wrap_dlopen(const char *name, int how)
{
	return __real_dlopen(no_library ? "/nonexistent/library" : name, how);
}

static const char *
path_of(const char *name)
{
	static char paths[4][128];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static const char *
file(const char *name, const char *text, size_t len, mode_t mode)
{
	const char *path = path_of(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

/* The keys of a file of this text. */
static struct tcpx_secret
keys(const char *text, size_t len)
{
	struct tcpx_secret *s = NULL, copy;

	assert_int_equal(tcpx_secret_open(file("key", text, len, 0600), &s), 0);
	copy = *s;
	tcpx_secret_close(s);
	return copy;
}

static void
refused(const char *files, int code, const char *text)
{
	struct tcpx_secret *s = (void *)1;
	char why[512];

	assert_int_equal(tcpx_secret_open(files, &s), code);
	assert_ptr_equal(s, (void *)1);
	tcpx_err_last(why, sizeof(why));
	check_has(why, text);
}

/* Computed with Python's hmac. */
TEST(keys_follow_from_the_content)
{
	static const uint8_t key[32] = {
		0x4a, 0x7f, 0x3d, 0x50, 0x3b, 0xc9, 0xdd, 0x97,
		0xf1, 0x17, 0x40, 0xe6, 0x8f, 0x38, 0x3e, 0x4c,
		0x63, 0x98, 0x81, 0x1d, 0x74, 0x52, 0xe6, 0xf5,
		0x8d, 0xaf, 0xa8, 0x0c, 0x79, 0xea, 0x10, 0x0e,
	};
	static const uint8_t id[16] = {
		0xa5, 0x17, 0xaa, 0x3a, 0x18, 0x5f, 0xc4, 0x5b,
		0x72, 0x4f, 0x26, 0x90, 0x4a, 0x4c, 0x49, 0x46,
	};
	struct tcpx_secret s = keys("correct horse battery staple\n", 29);

	assert_int_equal(s.count, 1);
	assert_int_equal(s.psk[0].id_len, 16);
	assert_memory_equal(s.psk[0].key, key, 32);
	assert_memory_equal(s.psk[0].id, id, 16);
}

TEST(newlines_at_the_end_do_not_count)
{
	struct tcpx_secret a = keys("0123456789abcdef", 16), b = keys("0123456789abcdef\r\n\n", 19);
	struct tcpx_secret c = keys("0123456789abcdef ", 17), d = keys("\n0123456789abcdef", 17);

	assert_memory_equal(&a.psk[0], &b.psk[0], sizeof(a.psk[0]));
	assert_memory_not_equal(a.psk[0].key, c.psk[0].key, 32);
	assert_memory_not_equal(a.psk[0].id, c.psk[0].id, 16);
	assert_memory_not_equal(a.psk[0].key, d.psk[0].key, 32);
}

TEST(length_has_bounds)
{
	static char text[4098];
	struct tcpx_secret a, b;

	memset(text, 'x', sizeof(text));
	refused(file("short", text, 15, 0600), TCPX_ECONFIG, "holds 15 bytes, at least 16 are needed");
	refused(file("short", "0123456789abcde\n\n\n", 18, 0600), TCPX_ECONFIG, "holds 15 bytes");
	refused(file("empty", text, 0, 0600), TCPX_ECONFIG, "holds 0 bytes");
	refused(file("long", text, 4097, 0600), TCPX_ECONFIG, "holds more than 4096 bytes");
	/* no byte is cut off in silence */
	a = keys(text, 4096);
	text[4095] = 'y';
	b = keys(text, 4096);
	assert_memory_not_equal(a.psk[0].key, b.psk[0].key, 32);
}

TEST(only_regular_files_are_read)
{
	struct sockaddr_un where = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	refused(folder, TCPX_ECONFIG, "is a directory, a regular file is needed");
	refused("/dev/zero", TCPX_ECONFIG, "is a device");
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	refused(path_of("pipe"), TCPX_ECONFIG, "is a pipe");
	snprintf(where.sun_path, sizeof(where.sun_path), "%s", path_of("socket"));
	assert_int_equal(bind(listener, (struct sockaddr *)&where, sizeof(where)), 0);
	refused(path_of("socket"), -ENXIO, "open TCPX_SECRET_FILE");
	close(listener);
	refused(path_of("none"), -ENOENT, "open TCPX_SECRET_FILE");
	/* a link leads to what it names */
	file("target", "0123456789abcdef", 16, 0600);
	assert_int_equal(symlink(path_of("target"), path_of("link")), 0);
	assert_int_equal(symlink("/dev/zero", path_of("bad")), 0);
	keys("0123456789abcdef", 16);
	refused(path_of("bad"), TCPX_ECONFIG, "is a device");
}

TEST(one_warning_of_other_readers)
{
	static const struct {
		const char *name;
		mode_t mode;
		const char *text;
	} cases[] = {
		{ "m0640", 0640, "can be read by its group (mode 0640): chmod 600" },
		{ "m0604", 0604, "can be read by every user (mode 0604): chmod 600" },
		{ "m0644", 0644, "can be read by every user (mode 0644): chmod 600" },
		{ "m0600", 0600, NULL },
		{ "m0400", 0400, NULL },
		{ "m0620", 0620, NULL },
	};
	struct tcpx_secret *s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *path = file(cases[i].name, "0123456789abcdef", 16, cases[i].mode);

		capture_start();
		/* the engines of one command */
		for (int engine = 0; engine < 2; engine++) {
			assert_int_equal(tcpx_secret_open(path, &s), 0);
			tcpx_secret_close(s);
		}
		assert_int_equal(captured_count("can be read by"), cases[i].text ? 1 : 0);
		assert_int_equal(cases[i].text ? captured_count(cases[i].text) : 0, cases[i].text ? 1 : 0);
	}
}

TEST(two_files_for_an_exchange)
{
	const char *old = file("old", "the secret of today", 19, 0600);
	const char *new = file("new", "the one of tomorrow", 19, 0600);
	struct tcpx_secret *s, a = keys("the secret of today", 19), b = keys("the one of tomorrow", 19);
	char files[400];

	snprintf(files, sizeof(files), "%s,%s", old, new);
	assert_int_equal(tcpx_secret_open(files, &s), 0);
	assert_int_equal(s->count, 2);
	assert_memory_equal(&s->psk[0], &a.psk[0], sizeof(a.psk[0]));
	assert_memory_equal(&s->psk[1], &b.psk[0], sizeof(b.psk[0]));
	tcpx_secret_close(s);
	snprintf(files, sizeof(files), "%s,%s,%s", old, new, old);
	refused(files, TCPX_ECONFIG, "TCPX_SECRET_FILE has three files, one file or two");
	snprintf(files, sizeof(files), "%s,", old);
	refused(files, TCPX_ECONFIG, "TCPX_SECRET_FILE has an empty name");
	snprintf(files, sizeof(files), ",%s", old);
	refused(files, TCPX_ECONFIG, "TCPX_SECRET_FILE has an empty name");
	refused("", TCPX_ECONFIG, "TCPX_SECRET_FILE has an empty name");
	snprintf(files, sizeof(files), "%s,%s", old, path_of("nothing"));
	refused(files, -ENOENT, "nothing");
	tcpx_secret_close(NULL);
}

TEST(without_a_library_it_says_so)
{
	const char *path = file("key", "0123456789abcdef", 16, 0600);

	no_library = true;
	capture_start();
	refused(path, TCPX_ECONFIG, "TCPX_SECRET_FILE is set, but OpenSSL cannot be loaded, neither "
		"libssl.so.3 with libcrypto.so.3 nor libssl.so.1.1 with libcrypto.so.1.1: /nonexistent");
	no_library = false;
	assert_int_equal(captured_count("TCPX_SECRET_FILE"), 1);
}

TEST(descriptors_stay_closed)
{
	struct tcpx_secret *s;
	int before = dup(0), after;

	close(before);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tcpx_secret_open(file("key", "0123456789abcdef", 16, 0600), &s), 0);
		tcpx_secret_close(s);
		refused(folder, TCPX_ECONFIG, "a directory");
	}
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

static int
make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int
remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int
main(void)
{
	return run_cases(make_folder, remove_folder);
}
