/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of "NAME = value" lines. Blanks around name and value do not count. # begins a
 * comment at the start of a line or behind a blank.
 */
#ifndef BASE_CFG_FILE_H
#define BASE_CFG_FILE_H

/* One assignment; @source is "PATH line N". A result other than 0 ends the reading
 * with that code. */
typedef int (*tcpx_cfg_line_fn)(void *arg, const char *name, const char *value,
				const char *source);

enum tcpx_cfg_place {
	TCPX_CFG_ETC,  /* the machine's: it may be missing, and who owns it has been chosen by root */
	TCPX_CFG_HOME, /* the user's: it may be missing */
	TCPX_CFG_NAMED /* by TCPX_CONF_FILE: it must exist */
};

/*
 * tcpx_cfg_file_read - call @fn for each assignment of the file
 * @place: where it lies. A setting can name a plugin, so a file that is another user's, or that others may
 *	   write to, is refused
 * Return: 0, TCPX_ECONFIG (refused, unreadable, or a line that is no assignment; logged), or
 * what @fn returned.
 */
int tcpx_cfg_file_read(const char *path, enum tcpx_cfg_place place, tcpx_cfg_line_fn fn, void *arg);

#endif
