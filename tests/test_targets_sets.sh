#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What scripts/targets says of two GPUs: `met` of made-up results in which all is well, and not met,
# with the reason, of copies in which one thing is wrong. The ids of points come from the program and the
# shipped configs.
#
#   test_targets_sets.sh SOURCE FIVESTAGE

set -eu
src=$1 fivestage=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/targets_rig.sh"
bad=0
gpu=GPU-01234567
begin() { # DIR CONFIG [REPEAT]
	d=$tmp/good/$1
	id=([cpu-rate-checked]=none)
	run "$d" "${3:-5}" $gpu
	nth "$2"
}

# ---- two GPUs ----

# path EXPERIMENT TOTAL CROSSING FENCE FETCH CQE
path() {
	row "$d" "$1-1" total - latency 100000 "$2"
	row "$d" "$1-1" crossing - latency 100000 "$3"
	row "$d" "$1-1" handoff built-rung latency 100000 "$4"
	row "$d" "$1-1" handoff started-fetched latency 100000 "$5"
	row "$d" "$1-1" completion written-completed latency 100000 "$6"
	row "$d" "$1-1" handoff - stale_wqe 100000 0
}
begin x-pair/targets targets-pair.ini
path nvlink-gpu-fence 3500 1280 300 820 960
path nvlink-sys-fence-record 4400 1280 1200 820 960
path nvlink-doorbell-host 5420 2300 1200 820 960
path nvlink-doorbell-issuer 4670 1550 1200 820 960
path nvlink-queue-host 6180 1280 860 2940 960
path nvlink-queue-peer 4410 1280 1820 210 960
path nvlink-cq-host 5970 2350 1200 820 1460
path nvlink-cq-peer 4370 1600 1200 820 610
queue_host=${id[nvlink-queue-host-1]}
for i in "pingpong 1270" "pingpong-doorbell-host 2290" "pingpong-doorbell-issuer 1540" "pingpong-cq-host 2340" "pingpong-cq-peer 1590"; do
	row "$d" "${i% *}-1" crossing - latency 100000 "${i#* }"
done
begin x-pair/pair pair.ini
row "$d" nvlink-rate-3 total - rate 5 85

# good DIR [SECTIONS]: nothing may be not met
good() {
	local said
	said=$(cd "$tmp/good" && "$src/scripts/targets" ${2:+-s "$2"} "$1") || true
	# what validate makes is looked at by test_targets.sh
	if grep '^NOT MET' <<<"$said" | grep -qv validate-nvlink || ! grep -q '^met' <<<"$said"; then
		echo "all should be met in:"
		echo "$said"
		exit 1
	fi
}
wrong() { # NAME DIR SECTIONS LINE WORDS COMMAND...
	local name=$1 dir=$2 sections=$3 line=$4 words=$5 said
	shift 5
	rm -rf "$tmp/copy"
	cp -r "$tmp/good" "$tmp/copy"
	(cd "$tmp/copy/$dir" && "$@")
	said=$(cd "$tmp/copy" && "$src/scripts/targets" ${sections:+-s "$sections"} "$dir") && code=0 || code=$?
	if [ $code -ne 1 ] || ! grep "^NOT MET *$line" <<<"$said" | grep -qF -- "$words"; then
		echo "$name: exit $code, expected 1 and \"NOT MET $line\" with \"$words\" in:"
		echo "$said"
		bad=$((bad + 1))
	fi
}
edit() { sed -i "$@"; }

good x-pair
wrong "a queue that isn't explained" x-pair '' "queue to the host" "built-rung -340, started-fetched +2120, rest +1000" \
	edit "/$queue_host.*,total,/s/,100000,6180,/,100000,7180,/" targets/summary.csv
wrong "a fence that isn't counted" x-pair '' "queue to the host" "rest -340" edit "/$queue_host.*,built-rung,/s/,860,/,1200,/" targets/summary.csv
wrong "a WQE fetched again" x-pair '' "queue to the host" "a retry: 4 WQE" \
	edit "/$queue_host.*,stale_wqe,/s/,100000,0,/,100000,4,/" targets/summary.csv
wrong "another order on the pair" x-pair '' "16 queues through a NIC on GPU 1" "no such row" edit '/,rate,/d' pair/summary.csv

[ $bad -eq 0 ] && echo "every wrong result is found out"
[ $bad -eq 0 ]
