#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The study of two hosts, t1-t5, in a lab: no run is lost to a server that takes its time to end,
# bindings reach both sides by the plugin's variables, memory is that of GPUs where there are some.
here=$(dirname "$0")
. "$here/tap.sh"
alone_with_irqs
lab_up --nics 1

# A server that closes its port late: told to end, it goes on for a moment.
cat >"$scratch/slow" <<END
#!/bin/sh
[ "\$1" = serve ] || exec "$tool" "\$@"
"$tool" "\$@" &
trap 'sleep 0.5; kill \$!' TERM
while kill -0 \$!; do wait; done
END
printf '#!/bin/sh\n[ "$1" = serve ] && set -- serve --so-not\nexec "%s" "$@"\n' "$tool" >"$scratch/broken"
chmod +x "$scratch/slow" "$scratch/broken"
export TCPX_CUDA_LIBRARY="$FAKECUDA_LIBRARY" FAKECUDA_DEVICES=2
export NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth0:0-0 # of whoever starts the study: counts for no cell

study() { # FOLDER SERVER OPTIONS...
	dir=$1 there=$2
	shift 2
	on h0 "$tool" matrix run t1-t5 -o "$dir" --set PEER=10.77.0.2 --set THERE="$there" \
		--set RSH="$tool lab exec --name $lab h1 sh -c" --set SIZE=64K --set SECONDS=1 \
		--load 100% "$@"
}
rows() { # an expression over all rows of runs
	python3 -c "
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
if not rows or not ($2):
    sys.exit('\n'.join(map(str, rows)))" "$1/results.csv"
}
# what the runs of CELL have as EVIDENCE
seen() {
	grep -F "| $2 | $3 |" "$1/REPORT.md"
}

# an earlier study, killed with its server's wrapper; the number is this test's own by now
mkdir -p /run/tcpx-matrix && echo $$ >/run/tcpx-matrix/serve.pid
ok "a study between two hosts runs" study "$scratch/study" "$scratch/slow" --blocks 1 --set PEER_MEM=host
ok "no run is lost" rows "$scratch/study" "all(r['exit'] == '0' and r['figure'] for r in rows)"
ok "cells that can run here are there" rows "$scratch/study" "{r['cell'] for r in rows} >= {'T0', 'T1', 'T2'}"
ok "T2 binds by the plugin's variables" says "NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth0" seen "$scratch/study" T2 "the server's bindings"
ok "T1 has none" says "none (1 runs)" seen "$scratch/study" T1 "the server's bindings"
ok "memory of GPUs where there are some, or what is asked for" says "sock cuda:0-1 host" \
	seen "$scratch/study" T1 "provider, memory here and there"
ok "no server is left" on h1 sh -c "! grep -q ':6F63 .* 0A ' /proc/net/tcp /proc/net/tcp6"
ok "nothing is left there" test ! -e /run/tcpx-matrix

study "$scratch/none" "$scratch/broken" --blocks 1 >/dev/null 2>&1
ok "a server that does not start says why" rows "$scratch/none" "all('unknown option' in r['reason'] for r in rows)"
done_testing
