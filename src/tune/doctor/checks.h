/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of tcpx doctor: const tables of questions for which "yes" is good. A probe
 * looks and judges; it changes nothing and prints nothing.
 */
#ifndef TUNE_DOCTOR_CHECKS_H
#define TUNE_DOCTOR_CHECKS_H

#include "tune/info/machine.h"

/* SKIPPED: the question does not apply here. UNKNOWN: it does, and the answer
 * is not available. */
enum check_status { CHECK_OK, CHECK_FINDING, CHECK_UNKNOWN, CHECK_SKIPPED, CHECK_STATUSES };

/* The cost of a finding: an error prevents work, a warning makes it slow or a matter of
 * luck, a note is worth knowing and no reason to exit with 1. */
enum check_severity { CHECK_ERROR, CHECK_WARNING, CHECK_NOTE, CHECK_SEVERITIES };

struct check_result {
	enum check_status status;
	char evidence[512]; /* what was seen; or the reason for skipped or unknown */
};

struct check {
	const char *id;       /* first member: tool_nearest() reads it */
	enum check_severity severity;
	const char *question;
	void (*probe)(const struct machine *m, struct check_result *r);
	const char *remedy;   /* what to do about a finding */
};

extern const struct check checks_nic[];    /* NICs and their network stack */
extern const size_t checks_nic_count;
extern const struct check checks_system[]; /* process, kernel, settings    */
extern const size_t checks_system_count;
extern const struct check checks_gpu[];    /* memory of GPUs               */
extern const size_t checks_gpu_count;
extern const struct check checks_cpu[];    /* CPUs, and the kernel's use of them */
extern const size_t checks_cpu_count;
extern const struct check checks_irq[];    /* interrupts, queues, bindings */
extern const size_t checks_irq_count;
extern const struct check checks_plugin[]; /* GPUDirect-TCPX: plugin, daemon, kernel */
extern const size_t checks_plugin_count;
extern const struct check checks_nixl[];   /* NIXL and our plugin for it   */
extern const size_t checks_nixl_count;
extern const struct check checks_nccl[];   /* our plugin for NCCL          */
extern const size_t checks_nccl_count;
extern const struct check checks_path[];   /* to the peer, and its obstacles */
extern const size_t checks_path_count;
extern const struct check checks_log[];    /* complaints of the kernel and of devices */
extern const size_t checks_log_count;

/* Of all tables, in order; NULL behind the last. */
const struct check *check_at(size_t i);
/* What its table is about, "network"; static. */
const char *check_group(const struct check *check);
const struct check *check_find(const char *id);
/* "ok", "finding", "unknown", "skipped"; static. */
const char *check_status_name(enum check_status status);
/* "error"; static. */
const char *check_severity_name(enum check_severity severity);

/* For the probes: sets the status and the evidence. */
void check_ok(struct check_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void check_finding(struct check_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void check_skip(struct check_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void check_unknown(struct check_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds an item, ", " between; what does not fit is left out. For lists whose meaning
 * is decided later. */
void check_add(struct check_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* After the list: a finding if it has items, else ok with that text. */
void check_judge(struct check_result *r, const char *ok_fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* For a probe that asks the kernel about this process. False: the root is a directory, and
 * the check is skipped. */
bool check_here(const struct machine *m, struct check_result *r);
/* Adds the pairs of NICs that lose full-size packets, where a peer was tried. */
void check_add_sizes(const struct machine *m, struct check_result *r);
/* A peer was tried, and each pair with this NIC connects, there and back. */
bool check_meets_peer(const struct machine *m, const struct tcpx_host_nic *nic);
/* Does the mount of @path have an option, "noexec"? False: not known. */
bool check_mounted(const struct machine *m, const char *path, const char *option, bool *has);
/* Whether the running kernel was built with CONFIG_...: 'y' or 'n'; 0: not known. */
char check_kernel_config(const struct machine *m, const char *option);

#endif
