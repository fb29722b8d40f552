#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a C file that holds a text file as one string. Used by meson, so that such files lie in
# the tree as what they are.
# Usage: embed.sh SYMBOL HEADER INPUT OUTPUT.c     (HEADER declares "extern const char SYMBOL[];")
set -eu
{
	printf '/* %s as a string. Made by embed.sh. */\n#include "%s"\n\nconst char %s[] =\n' \
		"$(basename "$3")" "$2" "$1"
	sed -e 's/["\\]/\\&/g' -e 's/	/\\t/g' -e 's/.*/	"&\\n"/' -e '$s/$/;/' "$3"
} >"$4"
