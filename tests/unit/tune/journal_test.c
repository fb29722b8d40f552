/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: its text both ways, everything that is refused, and its file. */
#include "../base/base_test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tune/irq/journal.h"

static const char good[] =
	"tcpx-irq-journal 1\n"
	"boot 11111111-2222-3333-4444-555555555555\n"
	"time 1763765000\n"
	"balancer 812 17 44\n"
	"irq 38 0-1 1 0 49153 virtio2-input.0\n"
	"irq 39 0-1,4 - 1-2 - gve-ntfy-blk0@pci:0000:06:00.0, and a name with blanks\n"
	"xps 3 ff 0 1,0000000f - eth1\n"
	"end 4\n"
	"state applied\n";

TEST(text_is_read_and_written)
{
	struct tcpx_journal j;
	char why[128], *text;

	assert_int_equal(tcpx_journal_parse(good, &j, why, sizeof(why)), 0);
	assert_int_equal(j.count, 3);
	assert_int_equal(j.state, TCPX_JOURNAL_APPLIED);
	assert_int_equal(j.balancer, 812);
	assert_string_equal(j.bans, "17 44");
	assert_int_equal(j.items[0].hwirq, 49153);
	assert_int_equal(j.items[1].hwirq, -1);
	assert_true(tcpx_cpuset_empty(&j.items[1].old_eff));
	assert_int_equal(j.items[2].kind, TCPX_AFF_XPS);
	assert_int_equal(tcpx_cpuset_count(&j.items[2].want), 5);
	text = tcpx_journal_format(&j);
	assert_non_null(text);
	assert_string_equal(text, good);
	free(text);
	tcpx_journal_fini(&j);
}

/* Any beginning of a journal is refused, but for the states behind "end". */
TEST(what_was_cut_off_is_refused)
{
	const char *end = strstr(good, "state ");
	char text[sizeof(good)], why[128];
	struct tcpx_journal j;

	for (size_t len = 0; len < sizeof(good) - 1; len++) {
		bool whole = len >= (size_t)(end - good);
		int rc;

		memcpy(text, good, len);
		text[len] = '\0';
		rc = tcpx_journal_parse(text, &j, why, sizeof(why));
		check(text, "rc", rc, whole ? 0 : -EINVAL);
		if (rc == 0) {
			assert_int_equal(j.state, TCPX_JOURNAL_OPEN);
			tcpx_journal_fini(&j);
		}
	}
}

#define HEAD "tcpx-irq-journal 1\nboot 1-2\ntime 1\n"

TEST(bad_lines_are_refused)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "line 1: not a journal" },
		{ "hello\n", "line 1: not a journal" },
		{ "tcpx-irq-journal 2\n", "newer tcpx" },
		{ "tcpx-irq-journal 0\n", "no such version" },
		{ "tcpx-irq-journal x\n", "no version" },
		{ "tcpx-irq-journal 1\ntime 1\n", "no boot id" },
		{ "tcpx-irq-journal 1\nboot zz\n", "no boot id" },
		{ "tcpx-irq-journal 1\nboot 1\ntime -1\n", "no time" },
		{ HEAD "irq x 0 0 0 - a\nend 1\n", "line 4: bad number" },
		{ HEAD "irq -1 0 0 0 - a\nend 1\n", "bad number" },
		{ HEAD "irq 99999999999 0 0 0 - a\nend 1\n", "bad number" },
		{ HEAD "irq 1 - 0 0 - a\nend 1\n", "bad old CPUs" },
		{ HEAD "irq 1 0-99999 0 0 - a\nend 1\n", "bad old CPUs" },
		{ HEAD "irq 1 3-1 0 0 - a\nend 1\n", "bad old CPUs" },
		{ HEAD "irq 1 0 0,,1 0 - a\nend 1\n", "bad effective" },
		{ HEAD "irq 1 0 0 all - a\nend 1\n", "bad new CPUs" },
		{ HEAD "irq 1 0 0 0 x a\nend 1\n", "bad hwirq" },
		{ HEAD "irq 1 0 0 0 -\nend 1\n", "word is missing" },
		{ HEAD "irq 1  0 0 0 - a\nend 1\n", "bad old CPUs" },
		{ HEAD "irq 1 0 0 0 - a\tb\nend 1\n", "bad name" },
		{ HEAD "xps 1 f - f - ../../etc\nend 1\n", "bad name" },
		{ HEAD "xps 1 f - f - .\nend 1\n", "bad name" },
		{ HEAD "xps 1 f - f - -\nend 1\n", "no interface" },
		{ HEAD "xps 1 f - f - a-name-too-long-x\nend 1\n", "bad name" },
		{ HEAD "balancer 0\nend 1\n", "bad balancer" },
		{ HEAD "balancer 7 1;2\nend 1\n", "bad balancer" },
		{ HEAD "balancer 7\nbalancer 8\nend 2\n", "not the end" },
		{ HEAD "irq 1 0 0 0 - a\nend 2\n", "not the end" },
		{ HEAD "what 1\nend 1\n", "not the end" },
		{ HEAD "end 0\nstate new\n", "not a state" },
		{ HEAD "end 0\nmore\n", "not a state" },
	};
	struct tcpx_journal j;
	char why[128];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		why[0] = '\0';
		check(rows[i].text, "rc", tcpx_journal_parse(rows[i].text, &j, why, sizeof(why)),
		      -EINVAL);
		if (!strstr(why, rows[i].says))
			fail_msg("%s: says \"%s\", not \"%s\"", rows[i].text, why, rows[i].says);
	}
}

/* Bytes changed at random: refused, or the same when written and read again. */
TEST(random_bytes_do_no_harm)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 3000; round++) {
		char text[sizeof(good)], why[128], *once, *twice;
		struct tcpx_journal j;

		memcpy(text, good, sizeof(good));
		for (uint64_t n = 1 + tcpx_rng_below(&rng, 3); n > 0; n--)
			text[tcpx_rng_below(&rng, sizeof(good) - 1)] =
				" \n0129-,abcxyz\t%"[tcpx_rng_below(&rng, 16)];
		if (tcpx_journal_parse(text, &j, why, sizeof(why)) < 0)
			continue;
		once = tcpx_journal_format(&j);
		tcpx_journal_fini(&j);
		check_random(seed, once && tcpx_journal_parse(once, &j, why, sizeof(why)) == 0);
		twice = tcpx_journal_format(&j);
		tcpx_journal_fini(&j);
		check_random(seed, twice && !strcmp(once, twice));
		free(once);
		free(twice);
	}
}

struct place {
	char dir[64], path[96], other[96];
};

static int
make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->dir, "/tmp/tcpx-journal-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/journal", p->dir);
	snprintf(p->other, sizeof(p->other), "%s/other", p->dir);
	*state = p;
	capture_start();
	return 0;
}

static int
remove_place(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	unlink(p->other);
	rmdir(p->dir);
	free(p);
	return 0;
}

/* Calls for the disk in their order: f syncs a file, d syncs a directory, r renames. */
static struct {
	char asked[16];
	char fails; /* one of them, or 0 */
} disk;

int __wrap_fsync(int fd);
int __real_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __real_rename(const char *from, const char *to);

static bool
disk_takes(char what)
{
	size_t n = strlen(disk.asked);

	if (n + 1 < sizeof(disk.asked))
		disk.asked[n] = what;
	errno = EIO;
	return disk.fails != what;
}

int
__wrap_fsync(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return disk_takes(S_ISDIR(st.st_mode) ? 'd' : 'f') ? __real_fsync(fd) : -1;
}

int
__wrap_rename(const char *from, const char *to)
{
	return disk_takes('r') ? __real_rename(from, to) : -1;
}

/* Its bytes before its name, and its name before any mask is written: else a machine that stops
 * has masks that nothing remembers. */
TEST_WITH(the_disk_has_a_journal_when_it_is_stored, make_place, remove_place)
{
	struct place *p = *state;
	struct tcpx_journal j;
	char why[128];

	memset(&disk, 0, sizeof(disk));
	assert_int_equal(tcpx_journal_parse(good, &j, why, sizeof(why)), 0);
	assert_int_equal(tcpx_journal_store(p->path, &j), 0);
	assert_string_equal(disk.asked, "frd");
	tcpx_journal_fini(&j);
}

TEST_WITH(a_disk_that_takes_no_journal_is_an_error, make_place, remove_place)
{
	struct place *p = *state;
	struct tcpx_journal j, back;
	char why[128];

	assert_int_equal(tcpx_journal_parse(good, &j, why, sizeof(why)), 0);
	for (const char *what = "frd"; *what; what++) {
		memset(&disk, 0, sizeof(disk));
		disk.fails = *what;
		assert_int_equal(tcpx_journal_store(p->path, &j), -EIO);
		if (*what != 'd')
			assert_int_equal(tcpx_journal_load(p->path, &back), -ENOENT);
	}
	assert_int_equal(captured_count("cannot write journal"), 3);
	memset(&disk, 0, sizeof(disk));
	tcpx_journal_fini(&j);
}

TEST_WITH(files_are_stored_and_loaded, make_place, remove_place)
{
	struct place *p = *state;
	struct tcpx_journal j, back;
	char why[128];
	struct stat st;

	assert_int_equal(tcpx_journal_load(p->path, &j), -ENOENT);
	assert_int_equal(captured_count("\n"), 0);
	assert_int_equal(tcpx_journal_parse(good, &j, why, sizeof(why)), 0);
	assert_int_equal(tcpx_journal_store(p->path, &j), 0);
	j.state = TCPX_JOURNAL_RESTORED;
	assert_int_equal(tcpx_journal_store(p->path, &j), 0);
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(tcpx_journal_load(p->path, &back), 0);
	assert_int_equal(back.count, 3);
	assert_false(tcpx_journal_unfinished(&back));
	tcpx_journal_fini(&back);
	tcpx_journal_fini(&j);
	assert_int_equal(captured_count("\n"), 0);
}

TEST_WITH(files_of_others_are_refused, make_place, remove_place)
{
	struct place *p = *state;
	struct tcpx_journal j;
	char why[128];

	assert_int_equal(tcpx_journal_parse(good, &j, why, sizeof(why)), 0);
	assert_int_equal(tcpx_journal_store(p->other, &j), 0);
	tcpx_journal_fini(&j);
	assert_int_equal(symlink(p->other, p->path), 0);
	assert_int_equal(tcpx_journal_load(p->path, &j), -EPERM);
	check_has(captured, "symbolic link");
	unlink(p->path);
	assert_int_equal(chmod(p->other, 0602), 0);
	assert_int_equal(tcpx_journal_load(p->other, &j), -EPERM);
	assert_int_equal(chmod(p->other, 0620), 0);
	assert_int_equal(tcpx_journal_load(p->other, &j), -EPERM);
	assert_int_equal(captured_count("others may write"), 2);
	assert_int_equal(tcpx_journal_load(p->dir, &j), -EPERM);
	check_has(captured, "not a file");
	if (geteuid() == 0) {
		assert_int_equal(chmod(p->other, 0600), 0);
		assert_int_equal(chown(p->other, 65534, 65534), 0);
		assert_int_equal(tcpx_journal_load(p->other, &j), -EPERM);
		check_has(captured, "another user");
	}
}

TEST_WITH(a_link_is_not_written_through, make_place, remove_place)
{
	struct place *p = *state;
	struct tcpx_journal j;
	char why[128], draft[128];
	struct stat st;

	assert_int_equal(tcpx_journal_parse(good, &j, why, sizeof(why)), 0);
	snprintf(draft, sizeof(draft), "%s.new", p->path);
	assert_int_equal(symlink(p->other, draft), 0);
	assert_int_equal(symlink(p->other, p->path), 0);
	assert_int_equal(tcpx_journal_store(p->path, &j), 0);
	tcpx_journal_fini(&j);
	assert_int_equal(lstat(p->path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_not_equal(lstat(p->other, &st), 0);
}
