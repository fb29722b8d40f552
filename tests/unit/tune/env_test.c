/* SPDX-License-Identifier: Apache-2.0 */
/* The environment that tcpx env prints for machines, and its findings in present ones. */
#include "../fixture.h"

#include "tune/env/lint.h"
#include "tune/env/make.h"

#define NIC0 "nic name=eth0 at=pci0000:00/0000:00:01.0 node=0 addr=10.0.0.1/24\n"
#define NIC1 "nic name=eth1 at=pci0000:00/0000:00:02.0 node=0 addr=10.0.1.1/24\n"
#define NIC10 "nic name=eth10 at=pci0000:00/0000:00:03.0 node=0 addr=10.0.2.1/24\n"
#define GPU "gpu at=pci0000:00/0000:00:04.0 node=0\n"
#define CPUS "cpus online=0-7 allowed=0-7\nnode id=0 cpus=0-7\n"
#define RXDM "file path=run/tcpx/rx_rule_manager text=\n"
#define ROUTE(nic) "Iface\tDestination\tGateway\n" nic "\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\n"

struct world {
	const char *text;  /* NULL: closed */
	struct fixture f;
	struct machine *m;
	struct tcpx_roles roles;
};

/* Reads the tree, perhaps again. */
static void
look(struct world *w, const char *route, const char *control)
{
	machine_free(w->m);
	fixture_write(&w->f, "proc/net/route", route);
	w->m = machine_new("test", w->f.root, "");
	assert_non_null(w->m);
	tcpx_roles_find(&(struct tcpx_role_facts){
		.all = w->m->facts->nics, .all_count = w->m->facts->nic_count, .nics = w->m->nics,
		.nic_count = w->m->nic_count, .gpus = w->m->facts->gpus, .gpu_count = w->m->facts->gpu_count,
		.control = control }, &w->roles);
}

static void
open_world(struct world *w, const char *machine, const char *route, const char *control)
{
	w->text = machine;
	fixture_init(&w->f);
	if (*machine == '@') {
		size_t name = strcspn(machine, "\n");
		char text[32];

		snprintf(text, sizeof(text), "%.*s", (int)name - 1, machine + 1);
		fixture_add_machine(&w->f, text);
		machine += name;
	}
	fixture_add(&w->f, machine);
	w->m = NULL;
	look(w, route, control);
}

static void
close_world(struct world *w)
{
	machine_free(w->m);
	fixture_fini(&w->f);
}

/* Trees are slow to make: rows in turn with the same machine share one. */
static void
turn_to(struct world *w, const char *machine, const char *route, const char *control)
{
	if (w->text && !strcmp(w->text, machine)) {
		look(w, route, control);
		return;
	}
	if (w->text)
		close_world(w);
	open_world(w, machine, route, control);
}

TEST(nics_have_their_roles)
{
	static const struct {
		const char *name, *machine, *route, *control, *data, *is;
	} rows[] = {
		{ "A3-high", "@a3-high", "", NULL, "eth1 eth2 eth3 eth4", "eth0" },
		{ "A3-high, routed", "@a3-high", ROUTE("eth0"), NULL, "eth1 eth2 eth3 eth4", "eth0" },
		{ "a data NIC has the route", "@a3-high", ROUTE("eth2"), NULL,
		  "eth1 eth2 eth3 eth4", "eth0" },
		{ "asked for", "@a3-high", ROUTE("eth0"), "eth3", "eth1 eth2 eth4", "eth3" },
		{ "no such", "@a3-high", "", "eth9", "eth1 eth2 eth3 eth4", "" },
		{ "no GPU", NIC1 NIC0, "", NULL, "eth0 eth1", "eth0" },
		{ "no GPU, routed", NIC0 NIC1, ROUTE("eth1"), NULL, "eth0 eth1", "eth1" },
		{ "one for all", NIC0 GPU, "", NULL, "eth0", "eth0" },
		{ "none", "", "", NULL, "", "" },
		{ "not a route", NIC0, "eth0 00000000 \n\n\neth0\t0", NULL, "eth0", "eth0" },
	};

	struct world w = { 0 };

	capture_start();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char data[256] = "";

		turn_to(&w, rows[i].machine, rows[i].route, rows[i].control);
		for (unsigned k = 0; k < w.roles.count; k++)
			snprintf(data + strlen(data), sizeof(data) - strlen(data), "%s%s",
				 k ? " " : "", w.roles.data[k]->ifname);
		check_text(rows[i].name, data, rows[i].data);
		check_text(rows[i].name, w.roles.control ? w.roles.control->ifname : "", rows[i].is);
	}
	close_world(&w);
}

/* What names give way to, and what they do not: the control NIC that is asked for is no data NIC. */
TEST(named_nics_carry_data)
{
	static const struct {
		const char *nics, *ifname, *socket, *ctrl, *data, *control;
	} rows[] = {
		{ "eth2,eth0", NULL, NULL, NULL, "eth0 eth2", "eth1" },
		{ NULL, "eth2,eth1", NULL, NULL, "eth1 eth2", "eth0" },
		{ NULL, NULL, "eth0", NULL, "eth1 eth2 eth3 eth4", "eth0" },
		{ NULL, "=eth3", "eth0", "eth4", "eth3", "eth4" },
		{ NULL, NULL, NULL, "eth4", "eth1 eth2 eth3", "eth4" },
		{ "eth4", "eth3", NULL, NULL, "eth4", "eth0" },
		{ "eth0,eth4", NULL, NULL, "eth0", "eth4", "eth0" },
		{ "eth0", NULL, NULL, "eth0", "eth0", "eth0" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;
		struct tcpx_roles roles;
		struct machine *m;
		char data[256] = "";

		fixture_init(&f);
		fixture_add_machine(&f, "a3-high");
		rows[i].ifname ? setenv("NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", rows[i].ifname, 1) :
				 unsetenv("NCCL_GPUDIRECTTCPX_SOCKET_IFNAME");
		rows[i].socket ? setenv("NCCL_SOCKET_IFNAME", rows[i].socket, 1) :
				 unsetenv("NCCL_SOCKET_IFNAME");
		rows[i].ctrl ? setenv("NCCL_GPUDIRECTTCPX_CTRL_DEV", rows[i].ctrl, 1) :
			       unsetenv("NCCL_GPUDIRECTTCPX_CTRL_DEV");
		m = machine_new("test", f.root, "");
		assert_non_null(m);
		assert_int_equal(machine_roles(m, rows[i].nics, NULL, &roles), 0);
		for (unsigned k = 0; k < roles.count; k++)
			snprintf(data + strlen(data), sizeof(data) - strlen(data), "%s%s",
				 k ? " " : "", roles.data[k]->ifname);
		check_text("data", data, rows[i].data);
		check_text("control", roles.control ? roles.control->ifname : "", rows[i].control);
		machine_free(m);
		fixture_fini(&f);
	}
	unsetenv("NCCL_GPUDIRECTTCPX_SOCKET_IFNAME");
	unsetenv("NCCL_SOCKET_IFNAME");
	unsetenv("NCCL_GPUDIRECTTCPX_CTRL_DEV");
}

static const char *
env_value(const struct env_set *set, const char *name)
{
	for (unsigned i = 0; i < set->count; i++)
		if (!strcmp(set->var[i].name, name))
			return set->var[i].value;
	return NULL;
}

TEST(a3_high_gets_what_is_published)
{
	static const char *const want[][2] = {
		{ "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", "eth1,eth2,eth3,eth4" },
		{ "NCCL_GPUDIRECTTCPX_CTRL_DEV", "eth0" },
		{ "NCCL_DYNAMIC_CHUNK_SIZE", "524288" },
		{ "NCCL_NSOCKS_PERTHREAD", "4" },
		{ "NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX", "/run/tcpx" },
		{ "NCCL_GPUDIRECTTCPX_TX_BINDINGS",
		  "eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177" },
		{ "NCCL_GPUDIRECTTCPX_RX_BINDINGS",
		  "eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191" },
	};
	struct env_set set;
	struct world w;

	open_world(&w, "@a3-high", "", NULL);
	for (unsigned cpu = 0; cpu < 104; cpu++) {
		char line[160];

		for (unsigned k = 0; k < 2; k++) {
			snprintf(line, sizeof(line), "file path=sys/devices/system/cpu/cpu%u/topology/"
				 "thread_siblings_list text=%u,%u", cpu + 104 * k, cpu, cpu + 104);
			fixture_add(&w.f, line);
		}
	}
	look(&w, "", NULL);
	assert_int_equal(env_make(w.m, &w.roles, &set), 0);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		check_text(want[i][0], env_value(&set, want[i][0]) ? env_value(&set, want[i][0]) : "unset",
			   want[i][1]);
	env_fini(&set);
	close_world(&w);
}

/* What was printed in a form, and read back from it. */
TEST(forms_say_the_same)
{
	struct env_set set;
	struct world w;

	open_world(&w, CPUS NIC0 NIC1 NIC10 GPU RXDM, ROUTE("eth0"), NULL);
	assert_int_equal(env_make(w.m, &w.roles, &set), 0);
	assert_true(set.count > 15);
	check_text("a prefix of another", env_value(&set, "TCPX_NICS"), "=eth0,eth1,eth10");
	for (int form = ENV_SH; form < ENV_FORMS; form++) {
		struct env_lint lint;
		char *text, **texts;
		size_t size;
		FILE *f;

		if (form == ENV_JSON)
			continue;
		f = open_memstream(&text, &size);
		assert_non_null(f);
		env_print(f, &set, (enum env_form)form);
		fclose(f);
		texts = env_job_texts(text, size);
		assert_non_null(texts);
		for (unsigned i = 0; i < set.count; i++)
			check_text(set.var[i].name, env_text_value(texts, set.var[i].name),
				   set.var[i].value);
		assert_int_equal(env_lint(w.m, &w.roles, texts, &lint), 0);
		for (unsigned i = 0; i < lint.count; i++)
			if (lint.at[i].level != ENV_NOTE && strcmp(lint.at[i].id, "control-nic"))
				fail_msg("%s: %s %s", lint.at[i].id, lint.at[i].name, lint.at[i].text);
		env_texts_free(texts);
		free(text);
	}
	env_fini(&set);
	close_world(&w);
}

#define GOOD "NCCL_DYNAMIC_CHUNK_SIZE=524288\nNCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX=/run/tcpx\n" \
	     "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth1\n"
#define TX "NCCL_GPUDIRECTTCPX_TX_BINDINGS="
#define RX "NCCL_GPUDIRECTTCPX_RX_BINDINGS="
#define TWO CPUS NIC0 NIC1 GPU RXDM

static const struct {
	const char *name, *machine, *env;
	const char *id;       /* NULL: no error and no warning; "" any of that level */
	enum env_level level;
	const char *part;     /* of variable and text */
} lints[] = {
	{ "good", CPUS NIC1 RXDM, GOOD, NULL, 0, NULL },
	{ "nothing set", TWO, "", "chunk-unset", ENV_ERROR, "is not set" },
	{ "0", TWO, "NCCL_DYNAMIC_CHUNK_SIZE=0\n", "chunk-unset", ENV_ERROR, "is 0" },
	{ "a later one counts", CPUS NIC1 RXDM, "NCCL_DYNAMIC_CHUNK_SIZE=0\n" GOOD, NULL, 0, NULL },
	{ "not a number", TWO, "NCCL_DYNAMIC_CHUNK_SIZE=512K\n", "chunk-unset", ENV_ERROR, "" },
	{ "hexadecimal", CPUS NIC1 RXDM, GOOD "NCCL_DYNAMIC_CHUNK_SIZE=0x80000\n", NULL, 0, NULL },
	{ "9 threads", TWO, GOOD "NCCL_SOCKET_NTHREADS=9\n", "nthreads", ENV_ERROR, "0 sockets" },
	{ "17 threads", TWO, GOOD "NCCL_SOCKET_NTHREADS=17\n", "range", ENV_WARNING, "1 to 16" },
	{ "sockets without end", TWO, GOOD "NCCL_SOCKET_NTHREADS=8\nNCCL_NSOCKS_PERTHREAD=9223372036854775807\n",
	  "sockets", ENV_WARNING, "is 9223372036854775807 sockets" },
	{ "a chunk without end", TWO, GOOD "NCCL_DYNAMIC_CHUNK_SIZE=9223372036854775807\nNCCL_NSOCKS_PERTHREAD=8\n"
	  "NCCL_P2P_NET_CHUNKSIZE=131072\n", "chunk-mismatch", ENV_WARNING, "differs" },
	{ "16 sockets", TWO, GOOD "NCCL_SOCKET_NTHREADS=4\nNCCL_NSOCKS_PERTHREAD=4\n", "sockets",
	  ENV_WARNING, "16" },
	{ "other chunk", TWO, GOOD "NCCL_P2P_NET_CHUNKSIZE=131072\n", "chunk-mismatch", ENV_WARNING,
	  "131072" },
	{ "too long for the sockets", TWO, GOOD "NCCL_P2P_NET_CHUNKSIZE=1048576\n", "chunk-mismatch",
	  ENV_ERROR, "lose pages" },
	{ "off", TWO, GOOD "NCCL_GPUDIRECTTCPX_SOCKET_ENABLE=0\n", "disabled", ENV_ERROR, "init" },
	{ "no plugin", TWO, GOOD "NCCL_NET_PLUGIN=none\n", "disabled", ENV_ERROR, "" },
	{ "TX in RX", TWO, GOOD TX "eth1:0-3\n" RX "eth1:3-5\n", "overlap", ENV_ERROR, "3" },
	{ "a NIC that is not there", TWO, GOOD TX "eth7:0-1\n" RX "eth1:2-3\n", "unknown-nic",
	  ENV_ERROR, "eth7" },
	{ "no bindings", TWO, GOOD, "bindings", ENV_NOTE, "is not set" },
	{ "no IFNAME", TWO, "NCCL_DYNAMIC_CHUNK_SIZE=1\n", "ifname", ENV_WARNING, "is not set" },
	{ "IFNAME of nothing", TWO, GOOD "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=ens\n", "ifname",
	  ENV_ERROR, "\"ens\"" },
	{ "IFNAME of many", CPUS NIC0 NIC1 NIC10 RXDM, GOOD, "ifname-prefix", ENV_WARNING,
	  "2 interfaces" },
	{ "whole names", CPUS NIC0 NIC1 NIC10 RXDM, GOOD "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME==eth1\n",
	  NULL, 0, NULL },
	{ "all but", CPUS NIC0 NIC1 NIC10 RXDM, GOOD "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=^eth0\n",
	  NULL, 0, NULL },
	{ "control among data", TWO, GOOD "NCCL_GPUDIRECTTCPX_CTRL_DEV=eth1\n", "control-nic",
	  ENV_WARNING, "eth1" },
	{ "control of nothing", TWO, GOOD "NCCL_GPUDIRECTTCPX_CTRL_DEV=eth5\n", "control-nic",
	  ENV_ERROR, "eth5" },
	{ "a GPU's NIC left out", "@a3-high\n" RXDM, GOOD, "ifname", ENV_WARNING, "leaves out eth2" },
	{ "prefix unset", CPUS NIC1, "NCCL_DYNAMIC_CHUNK_SIZE=1\n", "unix-prefix", ENV_WARNING,
	  "/tmp" },
	{ "prefix unset, daemon elsewhere", TWO, "NCCL_DYNAMIC_CHUNK_SIZE=1\n", "unix-prefix",
	  ENV_ERROR, "in /run/tcpx" },
	{ "prefix of nobody", CPUS NIC1, GOOD, "unix-prefix", ENV_WARNING, "no receive daemon" },
	{ "prefix wrong", TWO, GOOD "NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX=/run/rxdm\n", "unix-prefix",
	  ENV_ERROR, "is /run/rxdm" },
	{ "port", TWO "file path=proc/sys/net/ipv4/ip_local_port_range text=1024 60999\n", GOOD
	  "TCPX_PORT=28515\n", "port", ENV_WARNING, "28515" },
	{ "ports that nobody reads", TWO, GOOD "NCCL_GPUDIRECTTCPX_PORT_BEGIN=4000\n", "no-effect",
	  ENV_NOTE, "PORT_BEGIN" },
	{ "unknown of ours", TWO, GOOD "TCPX_CHUNKK=1\n", "unknown-name", ENV_WARNING,
	  "is TCPX_CHUNK meant?" },
	{ "unknown of theirs", TWO, GOOD "NCCL_GPUDIRECTTCPX_TX_BINDING=x\n", "unknown-name",
	  ENV_WARNING, "is NCCL_GPUDIRECTTCPX_TX_BINDINGS meant?" },
	{ "emulator's", CPUS NIC1 RXDM, GOOD "TCPX_EMU_MODE=strict\n", NULL, 0, NULL },
	{ "strategy", TWO, GOOD "NCCL_GPUDIRECTTCPX_FLOW_STEERING_STRATEGY=1\n", "range", ENV_ERROR,
	  "3 to 3" },
	{ "foreign NICs", TWO, GOOD "NCCL_CROSS_NIC=1\n", "foreign-nic", ENV_WARNING, "" },
	{ "far NICs", TWO, GOOD "NCCL_NET_GDR_LEVEL=SYS\n", "foreign-nic", ENV_WARNING, "PIX" },
	{ "no dma-buf", TWO, GOOD "NCCL_USE_DMA_BUF=false\n", "dma-buf", ENV_ERROR, "" },
	{ "inline", TWO, GOOD "NCCL_INLINE_THRESHOLD=64\n", "inline", ENV_WARNING, "" },
	{ "no wait", TWO, GOOD, "slow-connect", ENV_NOTE, "5 s" },
};

static bool
has(const struct env_lint *lint, const char *id, enum env_level level, const char *part)
{
	for (unsigned i = 0; i < lint->count; i++) {
		const struct env_finding *f = &lint->at[i];

		if (!strcmp(f->id, id) && f->level == level &&
		    (strstr(f->text, part) || strstr(f->name, part)))
			return true;
	}
	return false;
}

TEST(lint_finds_it_and_nothing_else)
{
	struct world w = { 0 };

	capture_start();
	for (size_t i = 0; i < ARRAY_LEN(lints); i++) {
		struct env_lint lint;
		char **texts;

		turn_to(&w, lints[i].machine, "", NULL);
		texts = env_job_texts(lints[i].env, strlen(lints[i].env));
		assert_non_null(texts);
		assert_int_equal(env_lint(w.m, &w.roles, texts, &lint), 0);
		for (unsigned k = 1; k < lint.count; k++)
			assert_true(lint.at[k - 1].level <= lint.at[k].level);
		if (!lints[i].id && lint.count && lint.at[0].level != ENV_NOTE)
			fail_msg("%s: %s %s %s", lints[i].name, lint.at[0].id, lint.at[0].name,
				 lint.at[0].text);
		if (lints[i].id && !has(&lint, lints[i].id, lints[i].level, lints[i].part))
			fail_msg("%s: no %s %s", lints[i].name, env_level_name(lints[i].level),
				 lints[i].id);
		env_texts_free(texts);
	}
	close_world(&w);
}

TEST(texts_are_read_as_they_are_written)
{
	static const char lines[] = "# a comment\n\nA=1\nexport B='two words'\n  C=\"3\"  \r\nnothing\n"
				    "D=\nA=last";
	static const char block[] = "A=1\0B= x \0\0C='q'";
	char **texts = env_job_texts(lines, sizeof(lines) - 1);

	check_text("A", env_text_value(texts, "A"), "last");
	check_text("B", env_text_value(texts, "B"), "two words");
	check_text("C", env_text_value(texts, "C"), "3");
	check_text("D", env_text_value(texts, "D"), "");
	assert_null(env_text_value(texts, "nothing"));
	env_texts_free(texts);
	texts = env_texts(block, sizeof(block));
	check_text("B as it is", env_text_value(texts, "B"), " x ");
	check_text("C as it is", env_text_value(texts, "C"), "'q'");
	env_texts_free(texts);
}

/* "A=1|B=2": what a file sets, in its order. */
static const struct {
	const char *name, *file, *want;
} files[] = {
	{ "mpirun", "mpirun -np 16 --hostfile hosts \\\n  -x A=1 \\\n  -x B=\"eth1:10-19;eth3:60\" -x C -x D='2 3' \\\n  ./program x=5\n",
	  "A=1|B=eth1:10-19;eth3:60|D=2 3" },
	{ "a fragment of it", "  -x A=1 \\\n  -x B=2\n", "A=1|B=2" },
	{ "assignments in front of a command", "A=1 B=2 mpirun -x C=3 ./program\n", "A=1|B=2|C=3" },
	{ "a value to the end of a line", "A=eth1:8-21,112-125;eth2:8 9\n", "A=eth1:8-21,112-125;eth2:8 9" },
	{ "export of several", "export A=1 B=\"2;3\" # C=3\n", "A=1|B=2;3" },
	{ "a quote in quotes", "export A='it'\\''s'\n", "A=it's" },
	{ "Slurm", "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --export=ALL,A=1,B=2\nsrun --export=ALL,C=3 ./program\n",
	  "A=1|B=2|C=3" },
	{ "which cuts values at commas", "#SBATCH --export=A=eth1,eth2,B=2\n", "A=eth1|B=2" },
	{ "but not in single quotes", "srun --export \"ALL,'A=eth1,eth2',B=2\" x\n", "A=eth1,eth2|B=2" },
	{ "another option of Slurm", "#SBATCH --job-name=x\n", "" },
	{ "Kubernetes",
	  "spec:\n  containers:\n  - name: main\n    env:\n    - name: A\n      value: \"1\" # one\n"
	  "    - name: B\n      valueFrom:\n        fieldRef: {fieldPath: x}\n    - value: 'it''s'\n      name: C\n"
	  "    - {name: D, value: \"4,5\"}\n    - name: E\n      value: >-\n        eth1:1-2\n    - name: F\n      value: \"\"\n"
	  "    volumeMounts:\n    - name: G\n      value: 7\n",
	  "A=1|C=it's|D=4,5|E=eth1:1-2|F=" },
	{ "its lists one column on", "  env:\n    - name: A\n      value: x y\n  args:\n  - name: B\n    value: 2\n", "A=x y" },
	{ "a script in it", "    args:\n    - |\n      export A=1\n      mpirun -x B=2 \\\n        -x C=3 p\n", "A=1|B=2|C=3" },
	{ "nothing", "#!/bin/sh\necho A: 1\n1=2\n=3\n-x\n", "" },
};

TEST(a_jobs_file_is_read_in_its_own_form)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char **texts = env_job_texts(files[i].file, strlen(files[i].file)), got[256] = "";

		assert_non_null(texts);
		for (char **at = texts; *at; at++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", *got ? "|" : "", *at);
		check_text(files[i].name, got, files[i].want);
		env_texts_free(texts);
	}
}

TEST(any_bytes_are_an_environment)
{
	struct tcpx_rng rng = tcpx_rng_seed(test_seed());
	struct world w;

	capture_start();
	open_world(&w, TWO, "", NULL);
	for (unsigned i = 0; i < 100; i++) {
		static const char *const words[] = {
			"NCCL_GPUDIRECTTCPX_", "TCPX_", "=", "\n", "TX_BINDINGS", "eth1:", "0-3", ",", ";",
			"'", "\"", "#", "export ", "NCCL_DYNAMIC_CHUNK_SIZE", "9999999999999999999", "-",
			"env:\n", "- name: ", "value: ", "{", "\\\n", "-x ", "--export=", "SOCKET_IFNAME", "^", "\xff", "SLOWNESS_SWITCH", "%s%n", "NCCL_SOCKET_NTHREADS",
		};
		struct env_lint lint;
		char text[512] = "", **texts;

		while (tcpx_rng_below(&rng, 24) && strlen(text) < 440)
			strcat(text, words[tcpx_rng_below(&rng, ARRAY_LEN(words))]);
		texts = env_job_texts(text, strlen(text));
		assert_int_equal(env_lint(w.m, &w.roles, texts, &lint), 0);
		assert_true(lint.count <= ENV_FINDINGS);
		env_texts_free(texts);
	}
	close_world(&w);
}
