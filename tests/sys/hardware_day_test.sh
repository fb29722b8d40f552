#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The script for the first day on hardware: its dry run names every step that its page explains
# and runs nothing; tcpx accepts every command that it would run.
. "$(dirname "$0")/tap.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
script=$root/scripts/hardware_day.sh
page=$root/deploy/hardware-day.md

dry() {
	( cd "$scratch" && sh "$script" --dry-run --tool "$tool" "$@" 10.0.0.2 )
}
steps_are_explained() {
	dry | sed -n 's/^== \([a-z-]*\):.*/\1/p' >"$scratch/steps" &&
		sed -n 's/^### \([a-z-]*\):.*/\1/p' "$page" >"$scratch/explained" &&
		[ -s "$scratch/steps" ] && diff "$scratch/steps" "$scratch/explained"
}
nothing_was_made() {
	dry >"$scratch/dry" && [ ! -e "$scratch/hardware-day" ]
}
# Each option of a tcpx command in it is one that the command's --help names.
options_exist() {
	dry | grep -o "$tool [a-z].*" | sed "s|^$tool ||" | while read -r command rest; do
		case $command in irq) command="irq ${rest%% *}" ;; esac
		# shellcheck disable=SC2086
		"$tool" $command --help >"$scratch/help"
		for word in $rest; do
			case $word in --*) grep -q -e "$word" "$scratch/help" || echo "$command $word" ;; esac
		done
	done >"$scratch/unknown"
	cat "$scratch/unknown"
	[ ! -s "$scratch/unknown" ]
}
# With a tool that only says what it was asked, every step runs and is kept.
runs_and_keeps() {
	printf '#!/bin/sh\necho "asked: $*"\n' >"$scratch/echo" && chmod +x "$scratch/echo" &&
		sh "$script" --tool "$scratch/echo" --out "$scratch/kept" --step sync 10.0.0.2 </dev/null &&
		grep -q "asked: perf 10.0.0.2" "$scratch/kept/sync.on-6.txt" &&
		[ "$(wc -l <"$scratch/kept/summary.txt")" = 12 ]
}
failures_are_told() {
	printf '#!/bin/sh\nexit 3\n' >"$scratch/fails" && chmod +x "$scratch/fails" &&
		sh "$script" --tool "$scratch/fails" --out "$scratch/bad" --step unpack 10.0.0.2 </dev/null
}

ok "every step is explained, in order" steps_are_explained
ok "a dry run makes nothing" nothing_was_made
ok "options are those of tcpx" options_exist
ok "runs a step and keeps what it printed" runs_and_keeps
ok "commands that fail are told" exits 1 failures_are_told
ok "one step alone" says "== rules" dry --step rules
ok "no such step" exits 2 dry --step nothing
ok "no peer" exits 2 sh "$script" --dry-run
done_testing
