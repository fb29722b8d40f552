#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run that fails or is interrupted keeps what it has measured, and never looks whole; an
# output that cannot be written is refused before anything is measured.
. "$(dirname "$0")/tap.sh"

json=$scratch/result.json
page=$scratch/page.html
events=$scratch/events
here=$(dirname "$0")

# at SIZES ACTION CODE ARG...: perf behind a gate ends with CODE.
at() {
	sizes=$1 action=$2 code=$3
	shift 3
	rm -f "$json" "$page" "$events"
	exits "$code" python3 "$here/gate.py" "$sizes" "$action" "$tool" perf --self -b 64K -e 1M \
		-w 1 -n 3 --timeout 10 --json "$json" --report "$page" "$@" --events "$events" \
		>"$scratch/table"
}
# ended MEMBER SIZE DONE: the result says so, and its rows are those that were measured.
ended() {
	result "$json" "r['$1']['size'] == $2 and r['$1']['sizes_done'] == $3 and
		r['$1']['sizes_asked'] == 3 and r['$1']['code'] and r['$1']['cause'] and
		len([k for k in ('failed', 'interrupted') if k in r]) == 1" &&
		python3 "$here/../../scripts/check-result.py" "$json"
}
says_so() {
	tr -s '#\n' ' ' <"$scratch/table" >"$scratch/words" # a sentence may be on two lines
	grep -q "<h1.*$1" "$page" && grep -q "$1" "$scratch/words" &&
		! grep -q Verified "$page" "$scratch/table"
}

ok "the server dies in the second of three sizes" at 1 kill 1
ok "the result has the first, and the failure" ended failed 262144 1
ok "with its row" result "$json" "[x['size'] for x in rows] == [65536]"
ok "the report is red" grep -q '<h1 class="bad">Failed at 256 KiB' "$page"
ok "page and table claim nothing else" says_so "Failed at 256 KiB.*1 of 3 sizes measured"
ok "a report is made of such a result" exits 0 "$tool" report "$json" -o "$page"
ok "the server dies in the first size" at 0 kill 1
ok "the result has no row" ended failed 65536 0
ok "but a report" says_so "Failed at 64 KiB.*0 of 3 sizes measured"
ok "it dies in a run of round trips" at 1 kill 1 --lat
ok "with the same result" ended failed 262144 1
ok "it dies, and a table of others' is printed" at 1 kill 1 --format nccl
ok "which says so" grep -q "^# Failed at 256 KiB" "$scratch/table"
ok "it dies, and CSV is printed" at 1 kill 1 --format csv
ok "with what was measured" test "$(wc -l <"$scratch/table")" = 2

ok "the server is stopped" says "from the server for 5 s (--timeout): it does not answer" \
	at 1 stop 1 --timeout 5
ok "the result says who was silent" result "$json" \
	"r['failed']['cause'] == 'the server did not answer for 5 s'"
ok "SIGINT between two sizes" at 1 int 130
ok "what was measured is kept" ended interrupted 262144 1
ok "and page and table say that it is not all" says_so "Interrupted at 256 KiB.*1 of 3 sizes"
ok "SIGINT in a long run" at 0 late 130 --duration 600
ok "the row is there as far as it came" result "$json" \
	"r['interrupted']['sizes_done'] == 0 and rows[0]['iters'] > 0 and rows[0]['busbw_GBps'] > 0"
for op in "--op read" "--op sendrecv" "--op lane" "--dir bi" "--lat" "--depth 4"; do
	# shellcheck disable=SC2086 # two words
	ok "SIGINT in a long run, $op" at 0 late 130 --duration 600 $op
done
ok "SIGINT twice ends it at once" at 0 twice 130 --duration 600

nowhere() {
	rm -f "$events"
	says "/nonexistent" exits 2 timeout 60 "$tool" perf --self -b 64K --events "$events" "$@" &&
		! [ -e "$events" ]
}
ok "a result that cannot be written is refused at once" nowhere --json /nonexistent/x.json
ok "a report, too" nowhere --report /nonexistent/x.html
ok "those of a mesh, too" says "/nonexistent" exits 2 timeout 60 \
	"$tool" perf --mesh --ranks 2 --json /nonexistent/x.json
done_testing
