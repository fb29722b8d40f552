#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A stdout that takes nothing, full or closed, is an error with a sentence, never exit code 0.
. "$(dirname "$0")/tap.sh"

full() {
	"$tool" "$@" >/dev/full
}
closed() {
	"$tool" "$@" >&-
}
for command in --version --help "info --json -" "topo" "completion bash"; do
	# shellcheck disable=SC2086
	ok "$command: a full stdout is a failure" exits 1 full $command
	# shellcheck disable=SC2086
	ok "$command: a closed stdout is a failure" exits 1 closed $command
	# shellcheck disable=SC2086
	ok "$command: stdout is named" says "stdout" full $command
done
# With stdout closed no connection may get its number.
ok "perf: a closed stdout is a failure" exits 1 closed perf --self -b 1M --duration 1
done_testing
