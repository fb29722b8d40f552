#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a command prints for people by default has lines of at most 80 characters, on this machine
# and on those of the texts. Exempt: values that are one word, and the variables of tcpx env, which
# a shell reads.
. "$(dirname "$0")/tap.sh"

# fits COMMAND...: it prints something, and nothing wider. A finding is no failure here.
fits() {
	"$@" >"$scratch/out" 2>"$scratch/err" </dev/null
	[ $? -le 1 ] || { cat "$scratch/err"; return 1; }
	[ -s "$scratch/out" ] || { echo "nothing is printed"; return 1; }
	width=$(grep -v '^export ' "$scratch/out" | LC_ALL=C.UTF-8 wc -L)
	[ "$width" -le 80 ] || { echo "$width columns:"; cat "$scratch/out"; return 1; }
}

for words in "--help" "info" "info --config" "topo" "irq plan" "irq verify --help" "doctor" \
	"top --help" "lab --help" "matrix --help" "perf --help" "diag --help"; do
	# shellcheck disable=SC2086
	ok "tcpx $words fits" fits "$tool" $words
done
for spec in "$fixtures"/*.spec; do
	base=$(basename "$spec" .spec)
	[ "$base" != cpus-4096 ] || continue # takes seconds, and says nothing else
	"$MACHINE_TREE" "$spec" "$scratch/$base" || exit 1
	for words in "topo" "irq plan" "info" "doctor"; do
		[ "$base $words" != "nothing irq plan" ] || continue # refused: it has no NIC
		# shellcheck disable=SC2086
		ok "$words of $base fits" fits "$tool" $words --root "$scratch/$base"
	done
done
shelf=$(dirname "$0")/../../share/matrix
for study in aa cores irq-study; do # the others ask for peers and hosts that are not here
	ok "the list of $study fits" fits "$tool" matrix run "$shelf/$study.matrix" --list
done
for run in a b; do
	"$tool" diag run -o "$scratch/$run" -- "$tool" perf --self -b 64K -n 2 >/dev/null 2>&1 || exit 1
done
ok "a comparison of two runs fits" fits "$tool" diag compare "$scratch/a" "$scratch/b"
ok "the summary of one fits" fits cat "$scratch/a/SUMMARY.txt"
"$tool" matrix run "$shelf/aa.matrix" --blocks 2 --set SIZE=64K --set SECONDS=0.1 -o "$scratch/study" >/dev/null 2>&1 ||
	exit 1
ok "the table of a study fits" fits "$tool" matrix report "$scratch/study"
ok "pin --help fits" fits "$tool" pin --help
cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
ok "what pin was granted fits" fits sh -c "'$tool' pin --cpus $cpu --pid \$\$"
start "$scratch/perf" timeout 60 "$tool" perf --self --nics 127.0.0.1,127.0.1.1 -b 4M --duration 300
engines() {
	[ "$("$tool" top --once -i 50ms | grep -c '^ *CHANNELS')" = 2 ]
}
ok "engines are at work" within 60 engines
ok "top --once fits" fits "$tool" top --once -i 100ms
if [ "$(id -u)" = 0 ] && "$tool" lab up --name "$lab" --rate 100G --nics 4 >/dev/null 2>&1; then
	ok "lab status fits" fits "$tool" lab status --name "$lab"
fi
done_testing
