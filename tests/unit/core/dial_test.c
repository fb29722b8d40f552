/* SPDX-License-Identifier: Apache-2.0 */
/* What the side that dials finds: an engine with another secret, no engine, the words of anybody. */
#include "rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/frame.h"

/* Files in memory: whatever ends this test, nothing stays. */
static char secret_path[3][32];

static void
write_secret(int i, const char *text)
{
	int fd = memfd_create("secret", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	snprintf(secret_path[i], sizeof(secret_path[i]), "/proc/self/fd/%d", fd);
}

/* -1: no secret. How the session of a to b, dialled so, ends up, and what a reads. */
static int
meet_at(const char *form, int secret_a, int secret_b, char why[512])
{
	char set_a[160], set_b[160], at[64];
	const char *a[] = { secret_a < 0 ? NULL : set_a, NULL };
	const char *b[] = { secret_b < 0 ? NULL : set_b, NULL };
	tcpx_engine *ea, *eb;
	tcpx_peer *p;
	int rc;

	if (secret_a >= 0)
		snprintf(set_a, sizeof(set_a), "TCPX_SECRET_FILE=%s", secret_path[secret_a]);
	if (secret_b >= 0)
		snprintf(set_b, sizeof(set_b), "TCPX_SECRET_FILE=%s", secret_path[secret_b]);
	ea = rig_open("anna", a);
	eb = rig_open("bert", b);
	snprintf(at, sizeof(at), form, tcpx_port(eb));
	assert_ok(tcpx_peer_connect(ea, at, &p));
	rc = tcpx_peer_wait(p, WAIT_MS);
	tcpx_last_error(ea, why, 512);
	tcpx_peer_free(p);
	tcpx_close(ea);
	tcpx_close(eb);
	return rc;
}

static int
meet(int secret_a, int secret_b, char why[512])
{
	return meet_at("127.0.1.1:%u", secret_a, secret_b, why);
}

TEST(only_equal_secrets_meet)
{
	void *lib = dlopen("libssl.so.3", RTLD_NOW);
	char why[512];

	if (!lib) {
		print_message("# skipped: libssl.so.3 is not installed\n");
		skip();
	}
	write_secret(0, "a secret that both sides know well");
	write_secret(1, "a secret that both sides know well");
	write_secret(2, "a secret that only one of them has");
	assert_ok(meet(0, 1, why));
	assert_code(meet(0, 2, why), TCPX_EAUTH);
	assert_non_null(strstr(why, "different secrets"));
	assert_code(meet(0, -1, why), TCPX_EAUTH);
	assert_non_null(strstr(why, "the peer has no secret, this side has one"));
	assert_code(meet(-1, 0, why), TCPX_EAUTH);
	assert_non_null(strstr(why, "the peer wants a secret; TCPX_SECRET_FILE is not set here"));
	/* the address that was dialled is compared, in whatever form */
	assert_ok(meet_at("[::ffff:127.0.1.1]:%u", 0, 1, why));
	dlclose(lib);
}

/* What answers is no engine: it says nothing, or something else. */
TEST(what_listens_is_no_engine)
{
	static const struct {
		const char *says, *why;
		int code;
	} cases[] = {
		{ "", "that is no tcpx engine, or hangs: no HELLO within 400 ms", TCPX_ETIMEDOUT },
		{ "SSH-2.0-OpenSSH_9.2p1 and its keys\r\n", "that is no tcpx engine: its bytes", TCPX_EPROTO },
		{ NULL, "no tcpx engine; or it went away or is full: the connection was closed",
		  TCPX_EPEERGONE },
	};
	static const char *const brief[] = { "TCPX_HANDSHAKE_MS=400", "TCPX_CONNECT_MS=1s", NULL };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(0x7f000101) } };
	socklen_t len = sizeof(at);
	char where[64], why[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0), other, tries;
		tcpx_engine *e = rig_open("anna", brief);
		tcpx_peer *p;

		at.sin_port = 0;
		assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
		assert_int_equal(listen(fd, 1), 0);
		assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
		snprintf(where, sizeof(where), "127.0.1.1:%u", ntohs(at.sin_port));
		assert_ok(tcpx_peer_connect(e, where, &p));
		other = accept(fd, NULL, NULL);
		if (cases[i].says)
			assert_int_equal(send(other, cases[i].says, strlen(cases[i].says), MSG_NOSIGNAL),
					 strlen(cases[i].says));
		/* what hangs up at once is connected to again, for TCPX_CONNECT_MS */
		for (tries = 0; !cases[i].says && tcpx_peer_wait(p, 1) == -EAGAIN;
		     tries += other >= 0) {
			if (other >= 0)
				close(other);
			fcntl(fd, F_SETFL, O_NONBLOCK);
			other = accept(fd, NULL, NULL);
		}
		assert_true(cases[i].says || tries > 2);
		assert_code(tcpx_peer_wait(p, WAIT_MS), cases[i].code);
		tcpx_last_error(e, why, sizeof(why));
		assert_non_null(strstr(why, where));
		if (!strstr(why, cases[i].why))
			fail_msg("\"%s\" does not say \"%s\"", why, cases[i].why);
		tcpx_peer_free(p);
		tcpx_close(e);
		if (other >= 0)
			close(other);
		close(fd);
	}
}

/* Before the proof an answer is anybody's, so it cannot say that the peer has gone. */
TEST(a_refusal_without_proof_is_not_believed)
{
	static const int said[] = { TCPX_EPEERGONE, TCPX_ESTALLED, -ECANCELED, -EAGAIN, TCPX_EAUTH };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(0x7f000101) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0), other;
	char set[160], where[64], why[512];
	const char *settings[] = { set, NULL };
	uint8_t room[TCPX_FRAME_MAX];
	struct tcpx_buf b;
	tcpx_engine *e;
	tcpx_peer *p;

	write_secret(0, "a secret that both sides know well");
	snprintf(set, sizeof(set), "TCPX_SECRET_FILE=%s", secret_path[0]);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	snprintf(where, sizeof(where), "127.0.1.1:%u", ntohs(at.sin_port));
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		e = rig_open("anna", settings);
		assert_ok(tcpx_peer_connect(e, where, &p));
		other = accept(fd, NULL, NULL);
		tcpx_buf_init(&b, room + TCPX_FRAME_HEAD, sizeof(room) - TCPX_FRAME_HEAD);
		tcpx_refuse_write(&b, said[i], "the peer has gone", 0);
		tcpx_frame_head_write(room, TCPX_FR_REFUSE, 0, (uint32_t)b.pos);
		assert_int_equal(send(other, room, TCPX_FRAME_HEAD + b.pos, MSG_NOSIGNAL),
				 TCPX_FRAME_HEAD + b.pos);
		assert_code(tcpx_peer_wait(p, WAIT_MS), said[i] == TCPX_EAUTH ? TCPX_EAUTH : TCPX_EPROTO);
		tcpx_last_error(e, why, sizeof(why));
		assert_null(strstr(why, "the peer has gone"));
		tcpx_peer_free(p);
		tcpx_close(e);
		close(other);
	}
	close(fd);
}

TEST(a_secret_without_its_library_is_an_error)
{
	static const char *const none[] = { "TCPX_SECRET_FILE=/nonexistent/secret", NULL };
	tcpx_engine *e;

	assert_int_not_equal(rig_try_open("x", none, &e), 0);
}
