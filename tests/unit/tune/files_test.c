/* SPDX-License-Identifier: Apache-2.0 */
/* Files tables of trees: what may be written, and that nothing leads out of the root. */
#include "../fixture.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tune/irq/affinity.h"

static struct fixture machine;
static char outside[64];

static int
make_machine(void **state)
{
	FILE *f;
	char link[128];

	fixture_init(&machine);
	fixture_write(&machine, "proc/irq/7/smp_affinity_list", "0-1\n");
	fixture_write(&machine, "proc/irq/7/fixed", "0-1\n");
	strcpy(outside, "/tmp/tcpx-outside-XXXXXX");
	assert_non_null(mkdtemp(outside));
	snprintf(link, sizeof(link), "%s/target", outside);
	f = fopen(link, "w");
	assert_non_null(f);
	fclose(f);
	fixture_link(&machine, "proc/irq/7/away", link);
	fixture_link(&machine, "proc/irq/7/up", "../../../../../../../../etc/passwd");
	capture_start();
	return 0;
}

static int
remove_machine(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/target", outside);
	unlink(path);
	rmdir(outside);
	fixture_fini(&machine);
	return 0;
}

TEST_WITH(a_tree_is_written_only_if_marked, make_machine, remove_machine)
{
	struct tcpx_files f;
	char text[16];

	assert_int_equal(tcpx_files_open(machine.root, true, &f), -EPERM);
	check_has(captured, "tcpx-fixture");
	assert_int_equal(tcpx_files_open(machine.root, false, &f), 0);
	assert_int_equal(f.ops->write(&f, "proc/irq/7/smp_affinity_list", "1"), -EPERM);
	fixture_write(&machine, TCPX_FILES_MARKER, "");
	assert_int_equal(tcpx_files_open(machine.root, true, &f), 0);
	assert_int_equal(f.ops->write(&f, "proc/irq/7/smp_affinity_list", "1"), 0);
	assert_int_equal(f.ops->read(&f, "proc/irq/7/smp_affinity_list", text, sizeof(text)), 1);
	assert_string_equal(text, "1");
	assert_int_equal(tcpx_files_open("/nonexistent", false, &f), -ENOTDIR);
}

TEST_WITH(nothing_leads_out_of_the_root, make_machine, remove_machine)
{
	struct tcpx_files f;
	char path[128];
	struct stat st;

	fixture_write(&machine, TCPX_FILES_MARKER, "");
	assert_int_equal(tcpx_files_open(machine.root, true, &f), 0);
	assert_int_equal(f.ops->write(&f, "proc/irq/7/away", "1"), -ENOENT);
	assert_int_equal(f.ops->write(&f, "proc/irq/7/up", "1"), -ENOENT);
	assert_int_equal(f.ops->write(&f, "proc/irq/7", "1"), -EISDIR);
	assert_int_equal(f.ops->write(&f, "proc/irq/7/new", "1"), -ENOENT);
	snprintf(path, sizeof(path), "%s/target", outside);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
}

TEST_WITH(modes_and_rights_are_told_apart, make_machine, remove_machine)
{
	struct tcpx_files f;
	char path[160];
	unsigned mode;
	int writing;

	assert_int_equal(tcpx_files_open(machine.root, false, &f), 0);
	snprintf(path, sizeof(path), "%s/proc/irq/7/fixed", machine.root);
	assert_int_equal(chmod(path, 0444), 0);
	assert_int_equal(f.ops->look(&f, "proc/irq/7/fixed", &mode, &writing), 0);
	assert_int_equal(mode, 0444);
	assert_int_equal(writing, geteuid() == 0 ? 0 : -EACCES);
	assert_int_equal(f.ops->look(&f, "proc/irq/8/fixed", &mode, &writing), -ENOENT);
}

/* The root's run may be a link; the real /run must not be meant by it. */
TEST_WITH(the_journal_stays_in_the_root, make_machine, remove_machine)
{
	char journal[256], lock[256], want[256];
	struct tcpx_files f;
	struct stat st;

	fixture_write(&machine, TCPX_FILES_MARKER, "");
	assert_int_equal(tcpx_files_open(machine.root, true, &f), 0);
	assert_int_equal(tcpx_aff_paths(&f, false, journal, lock, sizeof(lock)), 0);
	snprintf(want, sizeof(want), "%s/run", machine.root);
	assert_int_not_equal(stat(want, &st), 0);
	fixture_write(&machine, "var/volatile/file", "");
	fixture_link(&machine, "run", "/var/volatile");
	assert_int_equal(tcpx_aff_paths(&f, true, journal, lock, sizeof(lock)), 0);
	snprintf(want, sizeof(want), "%s/var/volatile/tcpx-irq/journal", machine.root);
	assert_string_equal(journal, want);
	snprintf(want, sizeof(want), "%s/var/volatile/tcpx-irq", machine.root);
	assert_int_equal(stat(want, &st), 0);
	assert_int_equal(rmdir(want), 0);
	fixture_link(&machine, "var/volatile/tcpx-irq", outside);
	assert_int_equal(tcpx_aff_paths(&f, true, journal, lock, sizeof(lock)), -ENOTDIR);
}
