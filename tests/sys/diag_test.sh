#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx diag: runs with diagnostics around them, on this machine and on a made-up one whose
# interrupts fire during the run; and comparisons.
. "$(dirname "$0")/tap.sh"

tool=$(cd "$(dirname "$tool")" && pwd)/$(basename "$tool")
unset NCCL_GPUDIRECTTCPX_TX_BINDINGS NCCL_GPUDIRECTTCPX_RX_BINDINGS TCPX_TX_BINDINGS
unset TCPX_RX_BINDINGS NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_ALGO BEGIN_SIZE END_SIZE ITERS
# its own journal, so that the test depends on nobody's
mkdir "$scratch/bin"
cat >"$scratch/bin/journalctl" <<'END'
#!/bin/sh
echo "2026-01-01T00:00:00 host rxdm[7]: client of GPU 3 connected"
echo "2026-01-01T00:00:00 host cron[8]: nothing of this"
END
# programs that record, in place of those that may be installed: each says how it was called, and
# how it ended. The command waits for perf alone, which says that it counts.
for program in mpstat pidstat perf; do
	cat >"$scratch/bin/$program" <<'END'
#!/bin/sh
trap 'kill $!; echo "ended by INT"; exit 0' INT
echo "${0##*/} $*"
for word in "$@"; do
	case $word in
	fd:*)
		ask=${word#fd:}
		read -r asked <"/proc/self/fd/${ask%,*}"
		echo "asked to $asked"
		echo ack >"/proc/self/fd/${ask#*,}"
		;;
	esac
done
tail -f /dev/null &
wait $!
END
done
chmod +x "$scratch"/bin/*
PATH=$scratch/bin:$PATH
export PATH

run() {
	"$tool" diag run -o "$@"
}
# told DIR EXPRESSION: true of its diag.json, as python sees it (d).
told() {
	python3 -c "
import json, sys
d = json.load(open(sys.argv[1] + '/diag.json'))
if not ($2):
    d['irq'] = None
    sys.exit(json.dumps(d, indent=1)[:6000])" "$1"
}

# ---- what passes through ----
streams() {
	run "$scratch/plain" -- sh -c 'echo one; echo two >&2; exit 3' >"$scratch/1" 2>"$scratch/2"
	code=$?
	[ $code = 3 ] && [ "$(cat "$scratch/1")" = one ] && grep -q '^two$' "$scratch/2"
}
ok "output, errors and the exit code are the command's" streams
ok "the files say the same" told "$scratch/plain" \
	"d['exit_code'] == 3 and d['signal'] is None and d['command'][0] == 'sh'"
ok "both streams are kept" sh -c "grep -q one '$scratch/plain/output.txt' &&
	grep -q two '$scratch/plain/output.txt'"
for file in SUMMARY.txt irq_diff.txt irq_affinity.txt nic_counters.txt rxdm.txt; do
	ok "$file is there" test -s "$scratch/plain/$file"
done
ok "no figures, no metrics" sh -c "! ls '$scratch/plain' | grep metrics"
ok "the journal's lines of the data path" grep -q 'rxdm.7.: client' "$scratch/plain/rxdm.txt"
ok "and no others" sh -c "! grep -q cron '$scratch/plain/rxdm.txt'"
ok "a signal" exits 143 run "$scratch/signal" -- sh -c 'kill -TERM $$'
ok "is told" told "$scratch/signal" "d['signal'] == 15"
passed_on() {
	start "$scratch/up" "$tool" diag run -o "$scratch/term" -- sh -c 'echo up; exec tail -f /dev/null'
	within 60 grep -q up "$scratch/up" || return 1
	kill -TERM "$started"
	wait "$started"
	[ $? = 143 ] && told "$scratch/term" "d['signal'] == 15"
}
ok "signals to it are passed on, and the files are written" passed_on
ok "a command that is not there" exits 127 run "$scratch/none" -- /nonexistent/command
ok "one that cannot be run" exits 126 run "$scratch/none" -- "$fixtures"
secrets() {
	UCCL_HOME=/u NCCL_X=1 TCPX_SECRET_FILE=/s run "$scratch/env" -- true
	grep -q '^UCCL_HOME=/u$' "$scratch/env/environment.txt" &&
		grep -q '^NCCL_X=1$' "$scratch/env/environment.txt" &&
		grep -q '^TCPX_SECRET_FILE=(hidden)$' "$scratch/env/environment.txt"
}
ok "the environment, without its secrets" secrets
json() {
	run "$scratch/json" --json - -- echo figure >"$scratch/1" 2>"$scratch/2" &&
		python3 -m json.tool <"$scratch/1" >/dev/null && grep -q figure "$scratch/2"
}
ok "--json - leaves stdout to it" json
long_output() {
	run "$scratch/long" -- sh -c 'i=0; while [ $i -lt 3000 ]; do echo "$i ..................."; i=$((i+1)); done' |
		tail -1 | grep -q 2999 && [ "$(wc -l <"$scratch/long/output.txt")" = 3000 ]
}
ok "all of a long output" long_output
ok "each CPU has its time" told "$scratch/plain" "d['cpus'] and all(
	0 <= c['busy'] <= 1 and c['idle_s'] >= 0 and c['softirq_s'] >= 0 for c in d['cpus'])"

# ---- programs that record beside the command ----
beside() { # the command sees that perf counts, and ends when the others have begun
	run "$scratch/beside" -- sh -c '
		grep -q "asked to enable" "$1/perf_stat.txt" || exit 9
		until grep -q mpstat "$1/mpstat.txt" && grep -q pidstat "$1/pidstat.txt"; do :; done
		echo $$ >"$1/pid"' sh "$scratch/beside"
}
ok "perf counts before the command begins" beside
ok "each CPU by mpstat" grep -qx "mpstat -P ALL 1" "$scratch/beside/mpstat.txt"
ok "each thread by pidstat" grep -qx "pidstat -t -u -w 1" "$scratch/beside/pidstat.txt"
ok "the command by perf" grep -Eq "^perf stat .*node-load-misses:u -p $(cat "$scratch/beside/pid")$" \
	"$scratch/beside/perf_stat.txt"
ok "all end by SIGINT, at which they write averages" sh -c "[ \$(cat '$scratch'/beside/*stat.txt |
	grep -cx 'ended by INT') = 3 ]"
missing() {
	PATH=$scratch "$tool" diag run -o "$scratch/missing" -- /bin/sh -c : 2>"$scratch/2" || return 1
	cat "$scratch/2"
	for program in mpstat pidstat perf; do
		[ "$(grep -c "^tcpx diag run: $program is not installed: no $program" "$scratch/2")" = 1 ] ||
			return 1
	done
	! ls "$scratch/missing" | grep stat
}
ok "one that is missing is a line, and no file" missing

# ---- bad input ----
ok "no command" exits 2 run "$scratch/x"
ok "a result that cannot be written" exits 2 run "$scratch/x" --json /nonexistent/x -- touch "$scratch/ran"
ok "is refused before the command runs" test ! -e "$scratch/ran"
ok "an option that is none" exits 2 run "$scratch/x" --fast -- true
ok "a folder that cannot be" exits 2 run /dev/null/x -- true
ok "a verb that is none" exits 2 "$tool" diag walk
ok "no verb" exits 2 "$tool" diag

# ---- a made-up machine whose interrupts fire ----
"$MACHINE_TREE" "$fixtures/virtio-2cpu.spec" "$scratch/tree.root"
printf 'eth0 rx_devmem_pkts 1000\neth0 odd 7\n' >"$scratch/tree.root/counters"
mkdir -p "$scratch/tree.root/proc/77" "$scratch/tree.root/proc/78"
echo tcpgpudmarxd >"$scratch/tree.root/proc/77/comm"
echo python3 >"$scratch/tree.root/proc/78/comm"
printf '/opt/bin/dp-manager\0--secret=x\0' >"$scratch/tree.root/proc/78/cmdline"
cat >"$scratch/traffic" <<'END'
cd "$1" || exit 1
sed 's/\( 38:.*\) 38001 /\1 38101 /' proc/interrupts >new && cat new >proc/interrupts
echo "eth0 rx_devmem_pkts 1500" >counters
END
made_up() {
	NCCL_GPUDIRECTTCPX_TX_BINDINGS='eth0:0-0' run "$scratch/made" --root "$scratch/tree.root" -- \
		sh "$scratch/traffic" "$scratch/tree.root" &&
		told "$scratch/made" "[n for n in d['nics'] if n['name'] == 'eth0' and n['irqs'] == 100 and
			n['observed_cpus'] == '1' and n['default_affinity'] == '0-1' and n['vectors'] == 3 and
			n['tx_bindings'] == '0' and n['rx_bindings'] is None and
			n['counters']['rx_devmem_pkts'] == 500]"
}
ok "what fired, where, and for whom" made_up
ok "the counter that was looked for" grep -q "rx_devmem_pkts rose by 500" "$scratch/made/SUMMARY.txt"
managers() {
	told "$scratch/made" "[p['pid'] for p in d['rxdm']['processes']] == [77, 78]" &&
		! grep -q secret "$scratch/made/rxdm.txt" "$scratch/made/diag.json"
}
ok "the data path manager, by any of its names, without its words" managers
ok "its snapshots are snapshots" "$tool" irq diff "$scratch/made/irq_before.snapshot" \
	"$scratch/made/irq_after.snapshot"

# ---- comparisons ----
perf() {
	TCPX_NICS=127.0.0.1 TCPX_CUDA_LIBRARY=/nonexistent run "$scratch/$1" -- \
		"$tool" perf --self -b 1M -n 5 --warmup 1 --json "$scratch/$1.json" \
		>"$scratch/out.$1" 2>&1 || {
		cat "$scratch/out.$1"
		return 1
	}
}
ok "a measurement" perf a
ok "and again" perf b
ok "its figures are found" told "$scratch/a" "d['metrics']['kind'] == 'p2p' and
	d['metrics']['points'][0]['size'] == 1 << 20 and d['metrics']['points'][0]['busbw_GBps'] > 0"
ok "they have a file" grep -q "best bus bandwidth" "$scratch/a/p2p_metrics_summary.txt"
ok "compared" says "B/A" "$tool" diag compare "$scratch/a" "$scratch/b"
ok "with the table of NICs" says "default affinity" "$tool" diag compare "$scratch/a" \
	"$scratch/b/diag.json"
ok "as JSON" sh -c "'$tool' diag compare --json - '$scratch/a' '$scratch/b' |
	python3 -c 'import json, sys; d = json.load(sys.stdin); assert d[\"comparable\"] and d[\"pairs\"]'"
ok "JSON that cannot be written is refused first" sh -c "! '$tool' diag compare --json \
	/nonexistent/x '$scratch/a' '$scratch/b' >'$scratch/compared' && [ ! -s '$scratch/compared' ]"
ok "a run that failed is compared with nothing" exits 1 "$tool" diag compare "$scratch/plain" \
	"$scratch/a"
ok "the reason is told" says "A ended with exit code 3" "$tool" diag compare "$scratch/plain" \
	"$scratch/a"
ok "what is no run" exits 2 "$tool" diag compare "$scratch/a" "$scratch"
ok "one run alone" exits 2 "$tool" diag compare "$scratch/a"

# ---- figures of a collective ----
cat >"$scratch/all_reduce_perf" <<'END'
#!/bin/sh
cat <<'TABLE'
# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1    150.5    6.97   12.19      0    149.1    7.03   12.31      0
# Avg bus bandwidth    : 12.25
TABLE
END
chmod +x "$scratch/all_reduce_perf"
ok "a test of NCCL" run "$scratch/nccl" -- "$scratch/all_reduce_perf"
ok "its figures" told "$scratch/nccl" "d['metrics']['kind'] == 'nccl' and
	d['metrics']['operation'] == 'all_reduce' and d['metrics']['points'][0]['iters'] == 20"
ok "have a file" grep -q 12.19 "$scratch/nccl/nccl_metrics_summary.txt"
ok "a collective is not compared with a pair" says "bus bandwidth of a collective" "$tool" diag \
	compare "$scratch/nccl" "$scratch/a"
done_testing
