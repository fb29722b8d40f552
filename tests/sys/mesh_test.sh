#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx perf --mesh: ranks of its own; ranks started with the variables of torchrun, Slurm or
# Kubernetes; and one that dies.
. "$(dirname "$0")/tap.sh"

json=$scratch/mesh.json
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT TCPX_RENDEZVOUS TCPX_RANKS

mesh() {
	timeout 60 "$tool" perf --mesh -b 256K -n 3 -w 1 --json "$json" "$@"
}
# pairs RANKS EXPRESSION: python's m is the mesh, p its pairs.
mesh_is() {
	python3 -c "
import json, sys
m = json.load(open(sys.argv[1]))['mesh'][0]
p = m['pairs']
n = $1
want = {(a, b) for a in range(n) for b in range(n) if a != b}
if {(x['from'], x['to']) for x in p} != want or len(p) != len(want) or not ($2):
    sys.exit(json.dumps(m, indent=1)[:4000])" "$json"
}
right="all(x['checked'] and not x['wrong'] and not x['failed'] and x['GBps'] > 0 for x in p)"

ok "three ranks by turns" mesh --ranks 3 --report "$scratch/mesh.html"
ok "every pair is right" mesh_is 3 "$right and m['plan'] == 'turns' and 0 < m['fairness'] <= 1"
ok "one rests, so a pair at a time" mesh_is 3 "sorted(x['step'] for x in p) == [0, 1, 2, 3, 4, 5]"
ok "the record is what the schema says" \
	python3 "$(dirname "$0")/../../scripts/check-result.py" "$json"
ok "the report names the worst pair" grep -q "the worst" "$scratch/mesh.html"
ok "and can be made again" "$tool" report "$json" -o "$scratch/again.html"
ok "the same" cmp "$scratch/mesh.html" "$scratch/again.html"
ok "a mesh is not compared with others" exits 2 "$tool" report "$json" "$json" -o /dev/null
ok "four at once, both ways" mesh --ranks 4 --all-at-once --dir bi --op read
ok "in one step" mesh_is 4 "$right and {x['step'] for x in p} == {0} and m['dir'] == 'bi'"
ok "a wrong byte is a finding" exits 1 mesh --ranks 2 --spoil
ok "and is counted" mesh_is 2 "all(x['wrong'] == 1 for x in p)"
gpus() {
	TCPX_CUDA_LIBRARY=$FAKECUDA_LIBRARY mesh --ranks 2 --mem cuda:local
}
ok "each rank its own GPU" gpus
ok "which the record tells" mesh_is 2 "[r['mem'] for r in m['ranks']] == ['cuda:0', 'cuda:1']"
ok "no rank in the environment" exits 2 mesh --from-env
ok "half of one" exits 2 env RANK=0 WORLD_SIZE=2 "$tool" perf --mesh --from-env
ok "what it lacks is named" says "TCPX_RENDEZVOUS" env RANK=0 WORLD_SIZE=2 "$tool" perf --mesh --from-env

# launch RANKS COMMAND...: so many of it, each with \$rank; all must end well.
launch() {
	ranks=$1
	shift
	pids=
	for rank in $(seq 0 $((ranks - 1))); do
		rank=$rank "$@" >"$scratch/rank$rank" 2>&1 &
		pids="$pids $!"
		jobs_started="$jobs_started $!"
	done
	launched=0
	for pid in $pids; do
		wait "$pid" && continue
		# shellcheck disable=SC2086 # a list of ids
		[ $launched = 1 ] || kill $pids 2>/dev/null # they would wait for it
		launched=1
	done
	cat "$scratch"/rank?
	return $launched
}
launch_again() {
	TCPX_RENDEZVOUS=127.0.0.1:$(free_port)
	export TCPX_RENDEZVOUS TCPX_NICS=lo
	launch "$@" && return
	grep -q "rendezvous: port" "$scratch/rank0" || return 1
	TCPX_RENDEZVOUS=127.0.0.1:$(free_port)
	launch "$@"
}
cat >"$scratch/torch" <<END
place=\$TCPX_RENDEZVOUS
unset TCPX_RENDEZVOUS
RANK=\$rank WORLD_SIZE=3 LOCAL_RANK=\$rank exec "$tool" perf --mesh --from-env -b 256K -n 3 \
	--rendezvous "\$place" --json "$json"
END
cat >"$scratch/slurm" <<END
SLURM_PROCID=\$rank SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_JOB_ID=7 SLURM_JOB_NODELIST=a[0-1] \
exec "$tool" perf --mesh --from-env -b 256K -n 3 --json "$json"
END
cat >"$scratch/pods" <<END
JOB_COMPLETION_INDEX=\$rank TCPX_RANKS=2 exec "$tool" perf --mesh --from-env -b 256K -n 3 --json "$json"
END
ok "ranks of a launcher like torchrun" launch_again 3 sh "$scratch/torch"
ok "all of them" mesh_is 3 "$right and m['launcher'] == 'torchrun'"
ok "only rank 0 prints" sh -c "[ -s '$scratch/rank0' ] && ! [ -s '$scratch/rank1' ]"
ok "ranks of Slurm" launch_again 2 sh "$scratch/slurm"
ok "it is named" mesh_is 2 "m['launcher'] == 'Slurm'"
ok "pods of an indexed Job" launch_again 2 sh "$scratch/pods"
ok "are, too" mesh_is 2 "m['launcher'] == 'Kubernetes'"

# One has no server to offer: nobody waits for it until the rendezvous's patience (120 s) is at an
# end, not even who comes when the others have gone.
cat >"$scratch/away" <<END
[ \$rank != 1 ] || export TCPX_NICS=nosuchnic0
export RANK=\$rank WORLD_SIZE=3
exec timeout 90 "$tool" perf --mesh --from-env -b 256K -n 3 --json "$json" --report "$scratch/away.html"
END
one_stays_away() {
	TCPX_RENDEZVOUS=127.0.0.1:$(free_port)
	export TCPX_RENDEZVOUS
	pids=
	for rank in 0 1 2; do
		export rank
		start "$scratch/rank$rank" sh "$scratch/away"
		pids="$pids $started"
		# it has been told why, and has gone, before rank 2 is there
		[ $rank != 1 ] || within 60 ended "$started" || return 1
	done
	for pid in $pids; do
		wait "$pid"
		[ $? = 1 ] || { cat "$scratch"/rank?; return 1; }
	done
	cat "$scratch/rank$1"
}
ended() {
	! kill -0 "$1" 2>/dev/null || grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null
}
ok "a rank without a server is named to rank 0" \
	says "rank 1 on $(uname -n): its server did not start" one_stays_away 0
# failed_by TEXT: the record is of a mesh that failed so before it met.
failed_by() {
	python3 "$(dirname "$0")/../../scripts/check-result.py" "$json" &&
		result "$json" "'$1' in r['failed']['cause'] and not r['mesh'][0]['pairs']"
}
ok "rank 0 writes that the mesh has failed" failed_by "its server did not start"
ok "and a page that says so" grep -q "<h1 class=.bad.>Failed" "$scratch/away.html"
no_rendezvous() {
	rm -f "$json"
	RANK=0 WORLD_SIZE=2 exits 1 "$tool" perf --mesh --from-env --rendezvous 192.0.2.1.x:1 --json "$json"
}
ok "so it does without a rendezvous" no_rendezvous
ok "with the cause" failed_by "has no address"
ok "and to one that comes later" says "rank 1 on $(uname -n): its server did not start" \
	cat "$scratch/rank2"
unset TCPX_RENDEZVOUS rank

# One of three dies in the middle; the others say which, and end.
cat >"$scratch/dies" <<END
export RANK=\$rank WORLD_SIZE=3
[ \$rank != 0 ] || set -- --json "$json"
exec "$tool" perf --mesh --from-env -b 256K --duration 60 --all-at-once "\$@"
END
# A child of that rank has worked for some time: it is past its gate.
measuring() {
	child=$(pgrep -P "$1" -f gate-fd | head -1)
	[ -n "$child" ] && awk '{ exit $14 + $15 < 20 }' "/proc/$child/stat"
}
one_dies() {
	TCPX_RENDEZVOUS=127.0.0.1:$(free_port)
	export TCPX_RENDEZVOUS
	pids=
	for rank in 0 1 2; do
		rank=$rank
		export rank
		start "$scratch/rank$rank" sh "$scratch/dies"
		pids="$pids $started"
	done
	within 60 measuring "$started" || return 1
	kill -9 "$started"
	for pid in $pids; do
		wait "$pid" && return 1
	done
	cat "$scratch/rank0"
}
rm -f "$json"
ok "a rank that dies is named by the others" says "rank 2 on $(uname -n) has gone" one_dies
ok "and the result has failed" result "$json" \
	"'rank 2' in r['failed']['cause'] and len(r['mesh'][0]['ranks']) == 3 and not rows"
ok "as the schema has it" python3 "$(dirname "$0")/../../scripts/check-result.py" "$json"
unset TCPX_RENDEZVOUS rank
left_over() {
	! pgrep -f "$tool perf --mesh .*-b 256K --duration 6"
}
# stopped SIGNAL: while it measures.
stopped() {
	rm -f "$json"
	start "$scratch/said" "$tool" perf --mesh --ranks 3 -b 256K --duration 61 --all-at-once \
		--json "$json" --report "$scratch/mesh.html"
	within 60 any_measures || return 1
	kill "-$1" "$started"
	wait "$started"
}
any_measures() {
	for rank in $(pgrep -P "$started"); do
		measuring "$rank" && return
	done
	return 1
}
ok "a mesh that is interrupted ends so" exits 130 stopped INT
ok "its result says so" result "$json" \
	"r['interrupted']['code'] == 'SIGINT' and 'failed' not in r and len(r['mesh'][0]['ranks']) == 3"
ok "and is what the schema says" python3 "$(dirname "$0")/../../scripts/check-result.py" "$json"
ok "its page, too" grep -q "Interrupted: Ctrl-C; 0 of 6 pairs" "$scratch/mesh.html"
ok "after SIGTERM as well" exits 143 stopped TERM
ok "none is left over" within 60 left_over
# killed RANK: as soon as it is there, so mostly before it has met the others.
killed() {
	rm -f "$json"
	start "$scratch/said" timeout 100 "$tool" perf --mesh --ranks 3 -b 256K --duration 62 --json "$json"
	within 60 rank_here "$1" || return 1
	kill -9 "$rank"
	wait "$started"
	got=$?
	cat "$scratch/said"
	echo "exit code $got"
	[ "$got" != 0 ] && [ "$got" != 124 ] && grep -q "rank $1 ended by signal 9" "$scratch/said"
}
rank_here() {
	parent=$(pgrep -P "$started") && rank=$(pgrep -P "$parent" | sed -n "$(($1 + 1))p") &&
		[ "$rank" ]
}
ok "a rank that dies early ends the mesh at once" killed 2
ok "its result names it" result "$json" "'rank 2' in r['failed']['cause']"
ok "and so does rank 0" killed 0
done_testing
