#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal of 80 columns and prints what it was sent; exits as it does.
Usage: terminal.py COMMAND..."""
import fcntl
import os
import pty
import struct
import sys
import termios

ready, go = os.pipe()
pid, fd = pty.fork()
if pid == 0:
    os.read(ready, 1)
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
os.write(go, b"x")
while True:
    try:
        got = os.read(fd, 65536)
    except OSError:  # it has ended
        break
    if not got:
        break
    sys.stdout.buffer.write(got)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
