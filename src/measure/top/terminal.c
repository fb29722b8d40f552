/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals come by a descriptor, so that no handler touches the terminal. What is not read from
 * the terminal in one call is kept for the next: a key may be several bytes.
 */
#include "measure/top/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/top/screen.h"
#include "tool/tool.h"

#define ESCAPE_MS 50 /* after this time ESC was the key of that name */

struct terminal {
	struct termios before;
	bool reads;      /* stdin is a terminal, too */
	int signals;     /* descriptor */
	sigset_t set, set_before;
	char bytes[64];  /* of keys, not yet used */
	size_t len;
	struct top_screen screen;
};

static void
enter(struct terminal *t)
{
	struct termios raw = t->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	if (t->reads)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	fputs("\033[?1049h\033[?25l", stdout);
	fflush(stdout);
}

static void
leave(struct terminal *t)
{
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (t->reads)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
}

static bool
begin(struct terminal *t)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH };
	size_t i;

	memset(t, 0, sizeof(*t));
	sigemptyset(&t->set);
	for (i = 0; i < ARRAY_LEN(numbers); i++)
		sigaddset(&t->set, numbers[i]);
	t->signals = signalfd(-1, &t->set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t->signals < 0)
		return false;
	sigprocmask(SIG_BLOCK, &t->set, &t->set_before);
	t->reads = tcgetattr(STDIN_FILENO, &t->before) == 0;
	enter(t);
	return true;
}

static void
end(struct terminal *t)
{
	leave(t);
	close(t->signals);
	sigprocmask(SIG_SETMASK, &t->set_before, NULL);
}

/* What the signal does to other programs, with the terminal as they have it. */
static void
obey(struct terminal *t, int number)
{
	if (number == SIGWINCH)
		return;
	leave(t);
	sigprocmask(SIG_SETMASK, &t->set_before, NULL);
	raise(number);
	/* stopped and continued, or ignored by our parent's wish */
	sigprocmask(SIG_BLOCK, &t->set, NULL);
	enter(t);
}

static void
draw(struct terminal *t, const json_t *doc)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	struct tcpx_text text = { .at = NULL };
	char *all, *rest, *line;
	unsigned row = 0;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	t->screen.rows = size.ws_row;
	t->screen.columns = size.ws_col;
	top_draw(&text, &t->screen, doc);
	if (tcpx_text_detach(&text, &all) < 0)
		return;
	fputs("\033[H", stdout);
	for (rest = all; (line = strsep(&rest, "\n")) && rest && row < size.ws_row; row++) {
		const char *paint = tool_paint(stdout, line[0] == '>' ? TOOL_REVERSED : TOOL_BOLD);
		bool painted = line[0] != ' ';

		printf("%s%s%c%s%s\033[K", row ? "\n" : "", painted ? paint : "",
		       line[0] == '#' ? ' ' : line[0], line[0] ? line + 1 : "",
		       painted ? tool_paint(stdout, TOOL_PLAIN) : "");
	}
	fputs("\033[J", stdout);
	fflush(stdout);
	free(all);
}

/* Uses the keys read so far. False: quit. */
static bool
press(struct terminal *t, const json_t *doc, bool waited)
{
	while (t->len) {
		size_t used;
		enum top_key key = top_key(t->bytes, t->len, &used);

		if (!used && !waited)
			return true;
		if (!used) { /* ESC by itself */
			key = TOP_KEY_BACK;
			used = t->len;
		}
		memmove(t->bytes, t->bytes + used, t->len - used);
		t->len -= used;
		if (!top_press(&t->screen, doc, key))
			return false;
	}
	return true;
}

static bool
read_keys(struct terminal *t, const json_t *doc)
{
	ssize_t n = read(STDIN_FILENO, t->bytes + t->len, sizeof(t->bytes) - t->len);

	if (n <= 0) { /* hung up, or the end of a file: keys are over */
		t->reads = t->reads && n < 0 && errno == EINTR;
		return true;
	}
	t->len += (size_t)n;
	return press(t, doc, false);
}

/* Takes keys and signals until then. False: quit. */
static bool
wait_until(struct terminal *t, const json_t *doc, uint64_t end_ns)
{
	struct signalfd_siginfo info;
	uint64_t now_ns;

	while ((now_ns = tcpx_clock_now(&tcpx_clock_system)) < end_ns) {
		struct pollfd fds[] = { { t->signals, POLLIN, 0 },
					{ t->reads ? STDIN_FILENO : -1, POLLIN, 0 } };
		uint64_t ms = (end_ns - now_ns) / TCPX_MS + 1;
		bool pending = t->len > 0;
		int n = poll(fds, 2, pending && ms > ESCAPE_MS ? ESCAPE_MS : ms > 3600000 ? 3600000 : (int)ms);

		if (n == 0 && pending && !press(t, doc, true))
			return false;
		if (fds[0].revents && read(t->signals, &info, sizeof(info)) == sizeof(info))
			obey(t, (int)info.ssi_signo);
		if (fds[1].revents && !read_keys(t, doc))
			return false;
		if (n > 0 || pending)
			draw(t, doc);
	}
	return true;
}

/* The screen alone names commands: what an engine says of itself does not change. */
static void
add_commands(json_t *doc)
{
	char path[64], text[256];
	json_t *e;
	size_t i, n, k;
	FILE *f;

	json_array_foreach(json_object_get(doc, "engines"), i, e) {
		snprintf(path, sizeof(path), "/proc/%.0f/cmdline", top_number(e, "pid"));
		f = fopen(path, "re");
		n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
		if (f)
			fclose(f);
		for (k = 0; k < n; k++) /* words end with NUL */
			text[k] = text[k] ? (text[k] >= ' ' && text[k] < 0x7f ? text[k] : '?') : ' ';
		while (n && text[n - 1] == ' ')
			n--;
		text[n] = '\0';
		json_object_set_new(e, "command", json_string(top_command(text)));
	}
}

int
top_terminal(const struct top_where *where, uint64_t interval_ns,
	     int (*also)(const void *arg, const json_t *doc), const void *arg)
{
	uint64_t next_ns = tcpx_clock_now(&tcpx_clock_system);
	json_t *before = NULL, *doc;
	int rc = TOOL_OK;
	struct terminal t;
	bool on = true;

	if (!begin(&t))
		return tool_fail(TOOL_DENIED, "tcpx top", "no descriptor for signals: %s", strerror(errno));
	while (on && rc == TOOL_OK) {
		doc = top_look(where);
		if (!doc) {
			rc = TOOL_DENIED;
			break;
		}
		top_rates(doc, before);
		json_decref(before);
		before = doc;
		rc = also(arg, doc);
		add_commands(doc);
		draw(&t, doc);
		next_ns += interval_ns;
		on = rc == TOOL_OK && wait_until(&t, doc, next_ns);
	}
	json_decref(before);
	end(&t);
	return rc;
}
