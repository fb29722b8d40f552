/* SPDX-License-Identifier: Apache-2.0 */
/* Every named failure is explained, and found by any of its texts. */
#include "../base/base_test.h"

#include "base/err.h"
#include "tune/doctor/explain.h"
#include "tool/tool.h"

TEST(every_code_is_explained)
{
	struct explained e = { .text = NULL };
	size_t explained = 0, codes = 0;

	for (int code = -1001; code > -1400; code--) {
		char text[160], heading[160];

		if (strncmp(tcpx_err_name(code), "TCPX_", 5))
			continue;
		snprintf(text, sizeof(text), "%d", code);
		if (!explain_find(text, &e))
			fail_msg("%s is not explained", tcpx_err_name(code));
		snprintf(text, sizeof(text), "%s (%d): %s", tcpx_err_name(code), code,
			 tcpx_err_text(code));
		snprintf(heading, sizeof(heading), "%.*s", (int)strcspn(e.text, "\n"), e.text);
		check_text("heading", heading, text);
		explained++;
	}
	e.text = NULL;
	while (explain_next(&e))
		codes += e.code != 0;
	check("codes", "explained", codes, explained);
}

TEST(every_part_is_there)
{
	static const char *const parts[] = { "Symptom", "Cause", "Check", "Fix" };
	struct explained e = { .text = NULL }, found;
	size_t sections = 0;

	for (; explain_next(&e); sections++) {
		const char *at = e.text;
		char mark[32];

		for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
			snprintf(mark, sizeof(mark), "\n\n**%s.** ", parts[k]);
			at = strstr(at, mark);
			if (!at || at > e.end || strcspn(at + strlen(mark), "\n") < 10)
				fail_msg("%s: part %s", e.name, parts[k]);
		}
		assert_true(e.end[-1] == '\n');
		assert_true(explain_find(e.name, &found));
		assert_ptr_equal(found.text, e.text);
	}
	assert_true(sections > 40);
}

/* A piece ends in its line, and is found by itself: nothing of it is cut off. */
TEST(every_piece_is_whole)
{
	struct explained e = { .text = NULL }, found;
	size_t pieces = 0;

	while (explain_next(&e)) {
		const char *at = strstr(e.text, "**Says.**"), *stop = at ? strstr(at, "\n\n") : NULL;

		for (; stop && stop < e.end && (at = strchr(at, '"')) != NULL && at < stop; pieces++) {
			char piece[160];
			size_t len = strcspn(at + 1, "\"\n");

			assert_true(at[1 + len] == '"' && len < 60);
			snprintf(piece, sizeof(piece), "%.*s", (int)len, at + 1);
			if (!explain_find(piece, &found))
				fail_msg("%s: \"%s\" is not found", e.name, piece);
			at += len + 2;
		}
	}
	assert_true(pieces > 80);
}

TEST(found_by_what_people_have)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{ "rx-no-cmsg", "rx-no-cmsg" },
		{ "fatal, 10.0.0.1:5->10.0.0.2:7 rx no cmsg", "rx-no-cmsg" },
		{ "[ncclNet:2] UNABLE to allocate requests", "no-requests" },
		{ "net_tcpx.cc:1323 test called with invalid request", "stuck" },
		{ "estalled", "TCPX_ESTALLED" },
		{ "1302", "TCPX_ESTALLED" },
		{ "-1302", "TCPX_ESTALLED" },
		{ "tcpx: peer 3: no live region has id 0x5 (TCPX_ESTALE)", "TCPX_ESTALE" },
		{ "tcpx: peer 3: 5 of 9 chunks (TCPX_ESTALLED)", "TCPX_ESTALLED" },
		/* lines of an older benchmark and of ours that leave out the code */
		{ "[PERF] Kernel mode: Avg: 7040 ms, BW: 0.01 GB/s", "slow-launch" },
		{ "[ERROR] tcpx_irecv failed (chunk)", "no-requests" },
		{ "[ERROR] Data verification failed", "corrupt-data" },
		{ "Expected: 0x42, Got: 0x00 (or random value)", "corrupt-data" },
		{ "[ERROR] Data mismatch at iteration 1: 1 wrong bytes, the first at 9", "corrupt-data" },
		{ "[ERROR] Send timeout at iteration 0 chunk=6", "stuck" },
		{ "[ERROR] Receive timeout at iteration 0 chunk=6", "stuck" },
		{ "[TCPX] rx no cmsg", "rx-no-cmsg" },
		{ "[ERROR] Failed to receive data", "rx-no-cmsg" },
		{ "[ERROR] Send failed at iteration 1 chunk=3", "message-failed" },
		{ "Send failed at iteration 1: the peer has gone (TCPX_EPEERGONE)", "TCPX_EPEERGONE" },
		/* NCCL's log, and our plugin's lines in it */
		{ "NET/tcpx-p2p : no engine: NIC selection \"x\" leaves none (ENODEV)", "nccl-start" },
		{ "NET/tcpx-p2p : no engine: TCPX_WINDOW \"abc\" (TCPX_ECONFIG)", "TCPX_ECONFIG" },
		{ "NCCL INFO Failed to initialize NET plugin tcpx-p2p", "nccl-start" },
		{ "NCCL WARN Bootstrap : no socket interface found", "nccl-start" },
		{ "NCCL WARN Error: network tcpx-p2p not found.", "nccl-plugin" },
		{ "NET/Plugin: No plugin found (tcpx-p2p)", "nccl-plugin" },
		/* the system's errors, by name and in words, and a code that was made of one */
		{ "[ERROR] hello x: bad message (EBADMSG)", "other-program" },
		{ "tcpx serve: bind to 10.0.0.1:28515: address in use", "port-taken" },
		{ "Connection reset by peer", "connection-lost" },
		{ "10.0.0.1:28515: connection refused (TCPX_ETIMEDOUT)", "TCPX_ETIMEDOUT" },
		{ "ECONNREFUSED", "refused" },
		{ "EHOSTUNREACH", "no-way" },
		{ "ENETUNREACH", "no-way" },
		{ "EADDRINUSE", "port-taken" },
		{ "ETIMEDOUT", "TCPX_ETIMEDOUT" },
		{ "ENONET", "no-common-network" },
		{ "no NIC here has an address that fits (ENONET)", "no-common-network" },
		{ "ENOSPC", "disk-full" },
		{ "EACCES", "not-permitted" },
		{ "EMFILE", "no-room" },
		{ "ENOENT", "no-such-file" },
		{ "ENOSYS", "not-supported" },
		{ "EPROTONOSUPPORT", "system-error" },
		{ "[ERROR] no plugin can be used: ...: no such library (ENOENT); --any would", "nothing-to-measure" },
		{ "[WARN] cuda:0 cannot be used: no GPU driver here, or no GPU", "nothing-to-measure" },
		{ "[ERROR] no client to measure within 600 s (--wait)", "no-client" },
		{ "[ERROR] 3 wrong bytes here: chunk 1", "corrupt-data" },
		{ "the copy kernels: a stated limit would be exceeded", "TCPX_ELIMIT" },
		{ "studEIO, not an error", NULL },
		{ "-1", NULL },
		{ "0", NULL },
		{ "", NULL },
		{ "TCPX_ESTALEMATE", NULL },
		{ "it is slow", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct explained e;
		bool found = explain_find(rows[i].text, &e);

		check_text(rows[i].text, found ? e.name : "none", rows[i].name ? rows[i].name : "none");
	}
}

TEST(every_system_error_is_known)
{
	size_t known = 0;

	for (int code = -1; code > -200; code--) {
		struct explained e;
		char line[160];

		if (tcpx_err_name(code)[0] != 'E')
			continue;
		snprintf(line, sizeof(line), "[ERROR] reading: %s (%s)", tcpx_err_text(code),
			 tcpx_err_name(code));
		if (!explain_find(line, &e))
			fail_msg("not known: %s", line);
		if (!explain_find(strchr(line, '('), &e))
			fail_msg("not known by its name: %s", line);
		known++;
	}
	assert_true(known > 50);
}

/* A section is plain text wherever it goes, and fits a terminal. */
TEST(a_section_has_no_markup)
{
	struct explained e = { .text = NULL };

	while (explain_next(&e)) {
		char *text = NULL, *rest, *line;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		assert_non_null(f);
		explain_one(f, &e);
		fclose(f);
		assert_null(strstr(text, "**"));
		assert_true(strncmp(text, e.name, strlen(e.name)) == 0);
		for (rest = text; (line = strsep(&rest, "\n")) != NULL;)
			if (strlen(line) > 80)
				fail_msg("%zu columns: %s", strlen(line), line);
		free(text);
	}
}
