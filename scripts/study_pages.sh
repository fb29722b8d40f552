#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# study_pages.sh [TCPX] - write the pages of the committed studies again, each from its records:
# docs/results/studies has a line for each, "FOLDER PAGE".
set -e
cd "$(dirname "$0")/.."
tcpx=${1:-build/tcpx}
while read -r study page; do
	"$tcpx" matrix report "docs/results/$study" -o "docs/$page.md"
	echo "docs/$page.md"
done <docs/results/studies
