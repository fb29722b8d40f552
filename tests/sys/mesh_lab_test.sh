#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A mesh of three hosts with two NICs each, in network namespaces: ranks started by a loop with
# mpirun's variables, and by mpirun where it is installed.
. "$(dirname "$0")/tap.sh"

lab_up --hosts 3 --nics 2
json=$scratch/mesh.json
export TCPX_RENDEZVOUS=10.77.0.1:28516
unset TCPX_NICS

# Becomes the rank that the variables tell, in the host of the same number.
cat >"$scratch/rank" <<END
exec "$tool" lab exec --name $lab h\$OMPI_COMM_WORLD_RANK "$tool" perf --mesh --from-env \
-b 1M -n 4 -w 1 --json "$json"
END

loop() {
	pids=
	for rank in 0 1 2; do
		OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_RANK=0 \
			sh "$scratch/rank" >"$scratch/rank$rank" 2>&1 &
		pids="$pids $!"
		jobs_started="$jobs_started $!"
	done
	looped=0
	for pid in $pids; do
		wait "$pid" || looped=1
	done
	cat "$scratch"/rank[012]
	return $looped
}
all_right() {
	python3 -c "
import json, sys
r = json.load(open(sys.argv[1]))
m = r['mesh'][0]
if not (m['launcher'] == 'Open MPI' and len(r['nics']) == 2 and len(m['pairs']) == 6 and
        all(p['checked'] and not p['wrong'] and p['GBps'] > 0 for p in m['pairs'])):
    sys.exit(json.dumps(m, indent=1)[:4000])" "$json"
}
ok "three hosts, started by hand" loop
ok "every pair is right, over both NICs" all_right
if command -v mpirun >/dev/null 2>&1; then
	rm -f "$json"
	ok "three hosts, started by mpirun" timeout 100 mpirun --allow-run-as-root --oversubscribe \
		--bind-to none -np 3 -x TCPX_RENDEZVOUS sh "$scratch/rank"
	ok "every pair is right, too" all_right
else
	count=$((count + 1))
	echo "ok $count - three hosts, started by mpirun # SKIP no mpirun here"
fi
done_testing
