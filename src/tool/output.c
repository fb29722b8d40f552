/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/tool.h"

#define NAMES_TRIED 100

static bool
is_stdout(const char *path)
{
	return !strcmp(path, "-");
}

/* May a file beside @path take its place? @old: what is there, if anything is. */
static bool
replaceable(const char *path, struct stat *old, bool *exists)
{
	struct stat out, link;

	*exists = stat(path, old) == 0;
	if (!*exists) /* a link that leads nowhere: the file it names is made */
		return lstat(path, &link) < 0 && errno == ENOENT;
	if (!S_ISREG(old->st_mode) || old->st_nlink == 0)
		return false;
	return fstat(STDOUT_FILENO, &out) < 0 || out.st_dev != old->st_dev ||
	       out.st_ino != old->st_ino;
}

/* A descriptor and its name in *draft; -errno. A new file has the mode that umask leaves. */
static int
make_draft(const char *target, const struct stat *old, char **draft)
{
	int fd, rc = -EEXIST;

	for (unsigned k = 0; k < NAMES_TRIED && rc == -EEXIST; k++) {
		if (asprintf(draft, "%s.%d.%u", target, (int)getpid(), k) < 0)
			return -ENOMEM;
		fd = open(*draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? 0600 : 0666);
		if (fd >= 0)
			return fd;
		rc = -errno;
		free(*draft);
	}
	*draft = NULL;
	return rc;
}

/* @fd becomes what @old is. The owner is a wish: only root may give files away, and a file
 * that another is to own must not gain what setuid gave that other. */
static int
take_after(int fd, const struct stat *old)
{
	mode_t mode = old->st_mode & 07777;

	if (fchown(fd, old->st_uid, old->st_gid) < 0)
		mode &= ~(mode_t)(S_ISUID | S_ISGID);
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int
open_beside(struct output *o, const char *path, const struct stat *old)
{
	int fd, rc;

	o->target = old ? realpath(path, NULL) : strdup(path);
	if (!o->target)
		return -errno;
	fd = make_draft(o->target, old, &o->draft);
	rc = fd < 0 ? fd : old ? take_after(fd, old) : 0;
	o->f = rc < 0 ? NULL : fdopen(fd, "w");
	if (o->f)
		return 0;
	rc = rc < 0 ? rc : -errno;
	if (fd >= 0) {
		close(fd);
		unlink(o->draft);
	}
	free(o->draft);
	free(o->target);
	*o = (struct output){ .f = NULL };
	return rc;
}

int
output_open(struct output *o, const char *path)
{
	struct stat old;
	bool exists;
	int rc = 0;

	*o = (struct output){ .f = NULL };
	errno = 0;
	if (is_stdout(path)) {
		o->f = stdout;
		return 0;
	}
	if (replaceable(path, &old, &exists)) {
		if (exists && access(path, W_OK) < 0) /* renaming would not ask */
			return -errno;
		rc = open_beside(o, path, exists ? &old : NULL);
		/* a folder where none may be made, with a file that may be written */
		if (!exists || (rc != -EACCES && rc != -EPERM))
			return rc;
	}
	o->f = fopen(path, "we");
	return o->f ? 0 : -errno;
}

int
output_close(struct output *o, bool failed)
{
	int rc = 0;

	if (failed || ferror(o->f))
		rc = errno ? -errno : -EIO;
	if ((o->f == stdout ? fflush(o->f) : fclose(o->f)) != 0 && !rc)
		rc = -errno;
	if (o->draft && !rc && rename(o->draft, o->target) < 0)
		rc = -errno;
	if (o->draft && rc)
		unlink(o->draft);
	free(o->draft);
	free(o->target);
	*o = (struct output){ .f = NULL };
	return rc;
}

int
output_refused(const char *command, const char *path, int rc)
{
	bool to_stdout = is_stdout(path);

	return tool_fail(to_stdout ? TOOL_FINDING : TOOL_USAGE, command, "cannot write %s%s: %s",
			 to_stdout ? "to " : "", to_stdout ? "stdout" : path, strerror(-rc));
}

int
output_text(const char *path, const char *text, size_t len)
{
	struct output out;
	int rc = output_open(&out, path);

	return rc ? rc : output_close(&out, fwrite(text, 1, len, out.f) != len);
}

int
output_writable(const char *command, const char *option, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char folder[4096] = ".";
	struct stat st;

	if (!path || !strcmp(path, "-"))
		return TOOL_OK;
	if (stat(path, &st)) { /* it has to be made */
		if (slash)
			snprintf(folder, sizeof(folder), "%.*s",
				 slash == path ? 1 : (int)(slash - path), path);
		path = errno == ENOENT ? folder : path;
	} else if (S_ISDIR(st.st_mode)) {
		return tool_fail(TOOL_USAGE, command, "%s %s: %s", option, path, strerror(EISDIR));
	}
	if (access(path, path == folder ? W_OK | X_OK : W_OK))
		return tool_fail(TOOL_USAGE, command, "%s: cannot write to %s: %s", option, path,
				 strerror(errno));
	return TOOL_OK;
}

void
output_guard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int
output_end(int code)
{
	bool failed = ferror(stdout); /* long ago, and errno is another's now */

	if (code != TOOL_OK)
		return code;
	if (fflush(stdout) != 0)
		return output_refused("tcpx", "-", -errno);
	return failed ? tool_fail(TOOL_FINDING, "tcpx", "stdout did not take all that was "
				  "written to it") : code;
}
