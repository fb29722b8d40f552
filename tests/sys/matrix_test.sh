#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx matrix over a workload that costs nothing: its files, its refusals, and a study killed
# in the middle of a block, which is taken down and resumed.
here=$(dirname "$0")
page=$(realpath "$here/page.py")
terminal=$(realpath "$here/terminal.py")
. "$here/tap.sh"
alone_with_irqs

work=$scratch/work
mkdir "$work"
# the figure depends on the cell and the block alone; $GATE holds up cell B of block 2
cat >"$work/speed.sh" <<'END'
echo "$MATRIX_CELL" >>"$LOG"
while [ "$KNOB" = 1 ] && [ "$MATRIX_BLOCK" = 2 ] && [ -e "$GATE" ]; do
	: >"$GATE.reached"
	sleep 0.02
done
test "$KNOB" != broken || { echo "it is broken" >&2; exit 3; }
test "$KNOB" != mute || exit 0
awk -v k="$KNOB" -v b="$MATRIX_BLOCK" -v c="$MATRIX_CELL" 'BEGIN {
	srand(b * 100 + length(c)); printf "speed %.4f GB/s\n", (10 + k) * (1 + b / 10) * (1 + 0.002 * rand()) }'
END
spec() {
	cat <<END
title = Of a knob
run = sh $work/speed.sh
metric = regex:speed ([0-9.]+)
unit = GB/s
set LOG = $work/log
set GATE = $work/gate
blocks = 6
warmup = 1
seed = 3
timeout = 60s
load = 100%
steal = 100%
effect knob = B/A
setup = touch $work/study-up
teardown = rm $work/study-up
[cell A]
env KNOB = 0
[cell B]
env KNOB = 1
setup = touch $work/cell-up
teardown = rm $work/cell-up
check it is set up = test -e $work/cell-up
evidence up = ls $work/cell-up | wc -l
[cell again]
same = A
[cell none]
require a flux compensator = false
END
}
spec >"$work/knob.matrix"
matrix() {
	"$tool" matrix "$@"
}
with() { # a spec with a line more
	spec | sed "s|^title.*|&\n$1|" >"$work/other.matrix"
}
json() {
	python3 -c "
import json, sys
r = json.load(open(sys.argv[1]))
e = {x['name']: x for x in r['effects']}
if not ($2):
    sys.exit(json.dumps(r, indent=1)[:4000])" "$1"
}

ok "the verbs are told" says "resume" matrix --help
ok "a verb nearly right is proposed" says "did you mean 'report'" matrix repor
ok "a spec that is not there is refused, and shipped ones named" says "no shipped spec" \
	matrix run no-such-spec
ok "the list has what a cell needs" says "require a flux compensator = false" \
	matrix run "$work/knob.matrix" --list
ok "and the study's commands" says "setup = touch $work/study-up" matrix run "$work/knob.matrix" --list
ok "the list is JSON, too" says '"command": "sh' matrix run "$work/knob.matrix" --list --json -
{
	spec
	printf 'require nothing = touch %s/asked\n\ttouch %s/asked-more\n' "$work" "$work"
	printf '[cell hidden]\nrequire a bell\007 = touch %s/asked\n' "$work"
} | sed "s|^title.*|&\nrequire nothing of the study = touch $work/asked\nfact a = touch $work/asked|" >"$work/other.matrix"
ok "a command of two lines is shown whole" says "touch $work/asked-more" matrix run "$work/other.matrix" --list
ok "what commands a terminal is not" says "a bell? = touch" matrix run "$work/other.matrix" --list
ok "a list has run nothing" test ! -e "$work/log" -a ! -e "$work/asked" -a ! -e "$work/study-up"

cd "$work" || exit 1
ok "a study runs" sh -c "'$tool' matrix run '$work/knob.matrix' -o one --json one.json >one.log 2>&1"
ok "a pipe hears of no progress" exits 1 grep -n "run [0-9]" one.log
ok "it finds the effect" json one.json \
	"r['verdict'] == 'helps' and abs(e['knob']['ratio'] - 1.1) < 0.01 and e['knob']['blocks'] == 6"
ok "and none between equal cells" json one.json "e['again/A']['verdict'] == 'no material effect'"
ok "a cell that cannot run is left out" json one.json \
	"[c['runs'] for c in r['cells']] == [True, True, True, False]"
ok "everything was run once a block" test "$(sort log | uniq -c | awk '{print $1, $2}' | paste -sd ' ')" \
	= "7 A 7 B 7 again"
ok "everything is taken down" test ! -e study-up -a ! -e cell-up
ok "the report has it" grep -q "helps: knob is 1.10" one/REPORT.md
ok "and the evidence" grep -q "| B | up | 1 (6 runs) |" one/REPORT.md
ok "the page is there, with the runs that count" \
	test "$(grep -o '"counted":\[.*' one/report.html | grep -o '"figure":' | wc -l)" = 18
ok "its policy allows its script and no other" python3 "$page" one/report.html
ok "a folder with a study is not written over" says "holds a study" matrix run "$work/knob.matrix" -o one
ok "it says what each option lacks" says "knob begins at 1." grep "^| A |" one/REPORT.md
ok "and that there is no reference" grep -q "no reference was given" one/REPORT.md
cp -r one copy
rm -r copy/raw copy/state.json copy/REPORT.md copy/report.html
ok "a report needs only the records" matrix report copy -o copy.md
ok "and is the same" cmp copy.md one/REPORT.md
ok "a reference makes a gap, and the option follows from it" sh -c \
	"'$tool' matrix report copy --reference NCCL=15 -o - | grep 'reference of 15 GB/s (NCCL)' &&
	'$tool' matrix report copy --reference NCCL=12 -o - | grep '^\*\*Option A' &&
	'$tool' matrix report copy --reference NCCL=50 -o - | grep '^\*\*Option C'"
ok "one that is none is refused" says "allowed is NAME=NUMBER" matrix report copy --reference 15
echo "- knobs are to be turned" >copy/lessons.md
ok "lessons are listed" says "knobs are to be turned" matrix report copy -o -
printf '%s\n' '- </li><script>|*' >copy/lessons.md
ok "and become no markup of a page" says '<li>&lt;/li&gt;&lt;script&gt;|*</li>' \
	matrix report copy --html -
ok "nor of Markdown" says '- &lt;/li>&lt;script>\|\*' matrix report copy -o -

cp -r copy bare
head -n 1 copy/results.csv >bare/results.csv
ok "a cell without a run has no figures" says "| A | 0 of 6 | - | - | - | xxxxxx |" matrix report bare -o -

none=$scratch/none/x
ok "an output that cannot be written is refused" exits 2 matrix report copy -o "$none"
ok "so is a page" says "--html: cannot write to" matrix report copy --html "$none"
ok "and so is JSON, before anything is written" sh -c \
	"! '$tool' matrix report copy -o early.md --json '$none' 2>/dev/null && [ ! -e early.md ]"
ok "a terminal shows each run" sh -c \
	"python3 '$terminal' '$tool' matrix run '$work/knob.matrix' -o shown >shown.log"
ok "of how many, and the time left" \
	grep -a "block 6/6  [Aagain B]*  run 21/21  about [0-9]* s left" shown.log

# many runs: those that count are in results.csv alone
cp -r copy many
python3 - many <<'END'
import json, sys
study = json.load(open(sys.argv[1] + "/study.json"))
study["blocks"] = 90
json.dump(study, open(sys.argv[1] + "/study.json", "w"))
with open(sys.argv[1] + "/results.csv", "a") as f:
    for block in range(7, 91):
        for order, cell in enumerate(("A", "B", "again"), 1):
            lost = block == 50 and cell == "B"
            f.write('%d,1,%d,"%s",2026-01-01T00:00:00Z,1.0,%d,%d,%s,"%s"\n' % (
                block, order, cell, lost, not lost, "" if lost else "10.5", "exit code 1" if lost else ""))
END
ok "of many runs, those that do not count are listed" says "| 50 | 2 | B |" matrix report many -o -
ok "with the warm-up, and no others" test "$(grep -cE '^\| (warm-up|[0-9]+) \| [0-9] \|' "$scratch/said")" = 4

# killed in the middle of a block, with a cell set up and its workload running
rm -f log
touch gate
start two.log "$tool" matrix run "$work/knob.matrix" -o two
killed=$started
within 60 test -e gate.reached
before=$(grep -c ^2, two/results.csv)
kill -9 "$killed"
wait "$killed" 2>/dev/null
ok "killed while B was set up" test -e cell-up -a -e study-up
ok "a report of what there is says it is not enough" says "inconclusive" matrix report two
rm -f gate
printf '2,1,3,"A",2026-01-01T00' >>two/results.csv
ok "resume takes down and goes on" says "was interrupted: taking it down" matrix resume two
ok "nothing is left set up" test ! -e study-up -a ! -e cell-up
ok "no process of it is left" test -z "$(grep -lsa "MATRIX_DIR=$work/two" /proc/[0-9]*/environ)"
matrix report two --json two.json >/dev/null 2>&1
ok "all blocks are whole" json two.json "all(c['valid'] == 6 for c in r['cells'] if c['runs'])"
ok "the same figures as without a kill" json two.json "abs(e['knob']['ratio'] - $(python3 -c "
import json
print([x['ratio'] for x in json.load(open('one.json'))['effects'] if x['name'] == 'knob'][0])")) < 1e-6"
ok "the interrupted block was begun again, its rows kept" test "$(grep -c ^2,2, two/results.csv) $(grep -c ^2,1, two/results.csv)" = "3 $before"
ok "resuming a whole study runs nothing more" matrix resume two
ok "its blocks can be raised" matrix resume two --blocks 8 --json two.json
ok "and they are" json two.json "e['knob']['blocks'] == 8"
ok "not lowered" says "allowed is more than the 8" matrix resume two --blocks 7

# what goes wrong is listed, not dropped
spec | sed 's/KNOB = 1/KNOB = broken/' >other.matrix
ok "a workload that fails is no crash" matrix run ./other.matrix -o three --json three.json
ok "its runs are listed as invalid" grep -q 'exit code 3: it is broken' three/REPORT.md
ok "and the verdict is open" json three.json "r['option'] == '?' and e['knob']['blocks'] == 0"
spec | sed 's/KNOB = 1/KNOB = mute/' >other.matrix
matrix run ./other.matrix -o four >/dev/null 2>&1
ok "what was lost, and by what" says "6 by \"exit code ...\"" grep "do not count" three/REPORT.md
ok "a workload that says nothing is told" grep -q 'no output' four/results.csv
spec | sed 's/^timeout.*/timeout = 2s/; s/^run.*/run = sleep 30/; s/^blocks.*/blocks = 1/; s/^warmup.*/warmup = 0/' >other.matrix
matrix run ./other.matrix -o five >/dev/null 2>&1
ok "a workload that hangs is ended" grep -q 'longer than the timeout' five/results.csv
spec | sed 's|rm .*/cell-up|false|' >other.matrix
ok "a tear-down that fails stops the study" exits 5 "$tool" matrix run ./other.matrix -o six
ok "and is known of" says "cannot be taken down" matrix resume six
rm -f cell-up study-up
spec | sed 's|^setup = touch .*/study-up|setup = false|; s|^teardown = rm .*/study-up|teardown = true|' >other.matrix
ok "a set-up that fails is rolled back" exits 4 "$tool" matrix run ./other.matrix -o seven
with 'require the moon = false'
ok "a study that cannot run here says so" exits 3 "$tool" matrix run ./other.matrix -o eight
with 'margin = 0'
ok "a bad spec is refused with its line" says "line 2: margin = 0" matrix run ./other.matrix -o nine
ok "a folder without a study is refused" exits 2 "$tool" matrix report "$scratch"

# SIGTERM: taken down, and told how to go on
touch gate
rm -f gate.reached log
start ten.log "$tool" matrix run "$work/knob.matrix" -o ten
asked=$started
within 60 test -e gate.reached
kill -TERM "$asked"
within 60 sh -c "! kill -0 $asked"
ok "asked to end, it takes down" test ! -e study-up -a ! -e cell-up
ok "and says how to go on" grep -q "matrix resume" ten.log
rm -f gate

# asked twice: the tear-down, which takes its time, is not broken off
rm -f gate.reached log down-begun
spec | sed "s|^teardown = rm .*/cell-up|teardown = touch $work/down-begun; while test \$MATRIX_BLOCK = 2 -a -e $work/gate; do sleep 0.02; done; rm $work/cell-up|" >other.matrix
touch gate
start eleven.log "$tool" matrix run ./other.matrix -o eleven
asked=$started
within 60 test -e gate.reached
rm -f down-begun
kill -TERM "$asked"
within 60 test -e down-begun
kill -TERM "$asked"
rm -f gate
within 60 sh -c "! kill -0 $asked"
ok "asked twice, it takes down all the same" test ! -e study-up -a ! -e cell-up
cd / || exit 1
done_testing
