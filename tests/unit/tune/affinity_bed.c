/* SPDX-License-Identifier: Apache-2.0 */
/* A machine of 8 CPUs to apply plans to. See affinity_bed.h. */
#include "affinity_bed.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct tcpx_cpuset pool;

static void
make_machine(struct sim *s)
{
	sim_init(s, 8);
	sim_add(s, 30, "eth1-TxRx-0", 100, 1);
	sim_add(s, 31, "eth1-TxRx-1", 101, 2);
	sim_add(s, 32, "nvme0q1", 102, 3)->managed = true;
	sim_add(s, 33, "eth2-TxRx-0", 103, 4);
	sim_add(s, 34, "eth2 with, a name", 104, 5)->mode = 0644;
	sim_find(s, 32)->mode = 0444;
	sim_add_queue(s, "eth1", 3);
}

static void
make_plan(struct bed *b)
{
	static const int cpus[BED_ITEMS] = { 4, 5, 6, 7, 6, 0 };

	memset(b->items, 0, sizeof(b->items));
	for (unsigned i = 0; i < BED_ITEMS; i++) {
		struct tcpx_aff_item *item = &b->items[i];

		tcpx_cpuset_add(&item->want, cpus[i]);
		if (i == BED_ITEMS - 1) {
			item->kind = TCPX_AFF_XPS;
			item->number = 3;
			item->hwirq = -1;
			strcpy(item->name, "eth1");
			continue;
		}
		item->number = 30 + i;
		item->hwirq = 100 + (int)i;
		strcpy(item->name, b->sim->irqs[i].name);
		item->pool = &pool;
	}
	strcpy(b->items[4].name, "eth2 with,a name"); /* the kernel writes it both ways */
}

void
bed_reset(struct bed *b)
{
	*b->sim = b->before;
	unlink(b->journal);
	make_plan(b);
	b->opts = (struct tcpx_aff_opts){ .journal = b->journal, .lock = b->lock };
	b->files = sim_files(b->sim);
	capture_start();
}

int
bed_make(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->sim = mmap(NULL, sizeof(*b->sim), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	assert_true(b->sim != MAP_FAILED);
	make_machine(b->sim);
	b->before = *b->sim;
	/* In memory, if there is a place: two thousand journals are put on the disk here. */
	strcpy(b->dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/tcpx-affinity-XXXXXX" :
						       "/tmp/tcpx-affinity-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->journal, sizeof(b->journal), "%s/journal", b->dir);
	snprintf(b->lock, sizeof(b->lock), "%s/lock", b->dir);
	tcpx_cpuset_init(&pool);
	tcpx_cpuset_add_range(&pool, 4, 7);
	bed_reset(b);
	*state = b;
	return 0;
}

int
bed_remove(void **state)
{
	struct bed *b = *state;
	char draft[128];

	snprintf(draft, sizeof(draft), "%s.new", b->journal);
	unlink(draft);
	unlink(b->journal);
	unlink(b->lock);
	rmdir(b->dir);
	munmap(b->sim, sizeof(*b->sim));
	free(b);
	return 0;
}

int
bed_apply(struct bed *b)
{
	return tcpx_aff_apply(&b->files, b->items, BED_ITEMS, &b->opts, &b->outcome);
}

int
bed_restore(struct bed *b)
{
	struct tcpx_aff_item *items;
	unsigned count;
	int rc = tcpx_aff_restore(&b->files, &b->opts, &items, &count, &b->outcome);

	free(items);
	return rc;
}

bool
bed_is_old(const struct bed *b)
{
	for (int i = 0; i < SIM_IRQS; i++)
		if (b->before.irqs[i].exists &&
		    !tcpx_cpuset_equal(&b->sim->irqs[i].mask, &b->before.irqs[i].mask))
			return false;
	return tcpx_cpuset_equal(&b->sim->queues[0].mask, &b->before.queues[0].mask);
}

bool
bed_is_new(const struct bed *b)
{
	for (int i = 0; i < BED_ITEMS - 1; i++) {
		const struct sim_irq *v = &b->sim->irqs[i];

		if (!tcpx_cpuset_equal(&v->mask, v->managed ? &b->before.irqs[i].mask :
							      &b->items[i].want))
			return false;
	}
	return tcpx_cpuset_equal(&b->sim->queues[0].mask, &b->items[BED_ITEMS - 1].want);
}

int
bed_in_child(struct bed *b, int (*act)(struct bed *b))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(act(b));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void
bed_write_journal(struct bed *b, const char *text)
{
	FILE *f = fopen(b->journal, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}
