#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/targets says `met` of made-up results in which all is well, and not met,
# with the reason, of each of many copies in which one thing is wrong. The ids of
# points come from the program and the shipped configs, not from the script.
#
#   test_targets.sh SOURCE FIVESTAGE

set -eu
src=$1 fivestage=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/targets_rig.sh"
marks="intent reserved resolved built rung seen started fetched translated read written completed noticed"
bad=0

# path EXPERIMENT TOTAL SUBMIT CROSSING FETCH CQE
path() {
	row "$d" "$1" total - latency 100000 "$2"
	row "$d" "$1" submit - latency 100000 "$3"
	row "$d" "$1" crossing - latency 100000 "$4"
	row "$d" "$1" handoff started-fetched latency 100000 "$5"
	row "$d" "$1" completion written-completed latency 100000 "$6"
	row "$d" "$1" total - observer 100000 40
	row "$d" "$1" handoff - stale_wqe 100000 0
}

# plants DIR NS-OF-THE-ISSUER NS-OF-THE-NIC [GPU]
plants() {
	local m k claim at expected ns
	run "$1" 1 "${4-}"
	echo "point,mark,plant_ns,claim,stage,interval,expected_ns,delta_ns,ci_lo,ci_hi,tolerance_ns,why,verdict" >"$1/validate.csv"
	for m in $marks; do
		case $m in seen | started | fetched | translated | read | written | completed) ns=$3 ;; *) ns=$2 ;; esac
		for k in 1 2 3 4 5 6 7 8 9 10 crossing wall; do
			claim=other at=a-b expected=0
			case $k in
			1) [ "$m" = intent ] || claim=own expected=$ns ;;
			crossing) claim=crossing at=- ;;
			wall) claim=wall at=- expected=$ns ;;
			esac
			echo "0123456789ab,$m,$ns,$claim,issue,$at,$expected,$((expected + 3)),,,16,\"why, in words\",ok"
		done
	done >>"$1/validate.csv"
}

make() {
	local gpu=GPU-01234567 d
	d=$tmp/good/h200/targets
	run "$d" 5 $gpu
	path peer-gpu-fence 1900 320 500 180 300
	row "$d" peer-gpu-fence crossing rung-seen latency 100000 260
	row "$d" peer-gpu-fence crossing completed-noticed latency 100000 250
	path peer-sys-fence-record 2800 1200 500 180 300
	path soft-gpu-fence 3000 320 1500 180 300
	path soft-sys-fence-record 5500 1200 1500 180 300
	path peer-doorbell-host 3200 320 1800 180 300
	path peer-queue-host 3900 320 500 2180 300
	path peer-cq-host 4900 320 2500 180 1300
	row "$d" pingpong-peer crossing - latency 10000 520
	row "$d" pingpong-peer-doorbell-host crossing - latency 10000 1820
	row "$d" pingpong-peer-cq-host crossing - latency 10000 2500
	row "$d" pingpong-soft crossing - latency 10000 1520
	row "$d" floor-gpu-fence submit - floor 10000 300
	row "$d" floor-sys-fence-record submit - floor 10000 1100
	row "$d" null-batch-1 total - rate 24 2.6
	row "$d" null-batch-16 total - rate 24 18
	row "$d" proxy-16 total - rate 5 12
	plants "$tmp/good/h200/validate-peer" 500 500 $gpu
	plants "$tmp/good/h200/validate-soft" 500 5000 $gpu
	run "$tmp/good/h200/default" 1 $gpu

	d=$tmp/good/cpu/targets
	run "$d" 5
	row "$d" cpu-rate total - rate 24 20
	row "$d" cpu-rate-checked total - rate 24 15
	row "$d" cpu-lines crossing - rate 1 35
	row "$d" cpu-latency total - observer 10000 200
	row "$d" cpu-latency crossing - latency 10000 50
	row "$d" cpu-pingpong crossing - latency 10000 50
	for m in 1 2 3 4 5 6 7 8 9 10 11 12; do
		row "$d" cpu-latency issue "a$m-b$m" latency 10000 20
	done
	plants "$tmp/good/cpu/validate" 5000 5000
	run "$tmp/good/cpu/default" 1
}

# wrong NAME LINE WORDS COMMAND...: after COMMAND in a copy, that line of the output
# must be not met with these words, and so must the whole. The last word of COMMAND
# says which directory is looked at.
wrong() {
	local name=$1 line=$2 words=$3 dir=${!#} said code=0
	shift 3
	dir=${dir%%/*}
	rm -rf "$tmp/copy"
	cp -r "$tmp/good" "$tmp/copy"
	(cd "$tmp/copy" && "$@")
	said=$(cd "$tmp/copy" && "$src/scripts/targets" -s path "$dir") || code=$?
	if [ $code -ne 1 ] || ! grep "^NOT MET *$line" <<<"$said" | grep -qF -- "$words"; then
		echo "$name: exit $code, expected 1 and \"NOT MET $line\" with \"$words\" in:"
		echo "$said"
		bad=$((bad + 1))
	fi
}
h=h200/targets/summary.csv
edit() { sed -i "$@"; }
at() { echo "^1,${id[$1]},$2,.*,$3,$4,none,$5,"; } # a row's beginning, for sed

ids targets.ini
ids targets-cpu.ini
make
said=$(cd "$tmp/good" && "$src/scripts/targets" -s path h200 cpu) || bad=1
if [ $bad -ne 0 ] || grep -q "^NOT MET" <<<"$said" || ! grep -q "^42 met, 0 not met" <<<"$said"; then
	echo "all should be met in:"
	echo "$said"
	bad=1
fi

p=peer-gpu-fence
wrong "a missing row" "submit, gpu-fence" "no row in repetition 3" edit "/$(at $p 3 submit - latency)/d" $h
wrong "no row at all" "posting into null, batch 16" "there is no such row" edit "/${id[null-batch-16]}/d" $h
wrong "another point" "total, soft.* gpu-fence" "there is no such row" edit "s/${id[soft-gpu-fence]}/00000000abcd/" $h
wrong "skipped" "submit, gpu-fence" "skipped in repetition 2: no GPU" \
	edit "/$(at $p 2 submit - latency)/s/ok,,\$/skipped,absent,no GPU/" $h
wrong "failed elsewhere in the point" "observer, peer, gpu-fence" "failed in repetition 5" \
	edit "/$(at $p 5 crossing - latency)/s/ok,,\$/failed,error,\"wrong, all\"/" $h
wrong "flagged" "total, peer.* gpu-fence" "20 % of the messages are flagged: stale" \
	edit "/$(at $p 4 total - latency)/s/ok,,\$/flagged,stale,stale/" $h
wrong "few messages" "submit, sys-fence-record" "9999 messages in repetition 1" \
	edit "/$(at peer-sys-fence-record 1 submit - latency)/s/,ns,100000,/,ns,9999,/" $h
wrong "an empty mean" "submit, gpu-fence" "messages in repetition 1" edit "/$(at $p 1 submit - latency)/s/,ns,100000,320,/,ns,,,/" $h
wrong "a row twice" "submit, gpu-fence" "a retry" edit "/$(at $p 1 submit - latency)/p" $h
wrong "a WQE fetched again" "total, soft.* gpu-fence" "a retry: 2 WQE" \
	edit "/$(at soft-gpu-fence 1 handoff - stale_wqe)/s/,100000,0,/,100000,2,/" $h
wrong "over a limit" "submit, gpu-fence" "401 ns" edit "/$(at $p . submit - latency)/s/,320,/,401,/" $h
wrong "under a limit" "posting into null, batch 1 " "2.39" edit "/${id[null-batch-1]}/s/,2.6,/,2.39,/" $h
wrong "a bare loop that is too fast" "bare loop over submit, gpu-fence" "0.781" edit "/${id[floor-gpu-fence]}/s/,300,/,250,/" $h
wrong "no bare loop" "bare loop over submit, gpu-fence" "no such row" edit "/${id[floor-gpu-fence]}/d" $h
wrong "a slow worker" "one proxy worker" "9.9 M/s" edit "/${id[proxy-16]}/s/,5,12,/,5,9.9,/" $h
wrong "a worker's point that failed" "one proxy worker" "failed in repetition 2" \
	edit "/$(at proxy-16 2 total - rate)/s/ok,,\$/failed,error,stuck/" $h
wrong "a worker's rows that are missing" "one proxy worker" "no row in repetition 4" edit "/$(at proxy-16 4 total - rate)/d" $h
wrong "a crossing that isn't pingpong's" "stage 2, soft, gpu-fence" "+15.4 %" edit "/${id[pingpong-soft]}/s/,1520,/,1300,/" $h
wrong "a step that isn't explained" "CQ to the host" "rest +1020" \
	edit "/$(at peer-cq-host . total - latency)/s/,4900,/,5900,/" $h
wrong "hops that are not the crossing" "the hops inside the GPU" "rung-seen 260 + completed-noticed 280 ns, the crossing is 500" \
	edit "/$(at $p . crossing completed-noticed latency)/s/,250,/,280,/" $h
wrong "runs that differ" "between runs, peer, gpu-fence" "1.14 %" \
	edit "/$(at $p '[12]' total - latency)/s/,1900,/,1940,/" $h
wrong "too few runs" "between runs, soft" "4 repetitions" edit 's/"repeat": 5/"repeat": 4/; /^1,[0-9a-f]*,5,/d' h200/targets/run.json $h
wrong "no commit's" "submit, gpu-fence" "no commit's" edit 's/ab",$/ab-dirty",/' h200/targets/run.json
wrong "no GPU" "total, peer" "names no GPU" edit 's/GPU-01234567//' h200/targets/run.json
wrong "incomplete" "default config" "incomplete" edit 's/"complete": true/"complete": false/' h200/default/run.json
wrong "slow" "default config" "61.0 s" edit 's/21000000000/62000000000/' h200/default/run.json
wrong "no default run" "default config, peak memory" "no such run" rm -r cpu/default
wrong "much memory" "default config, peak memory" "301 MiB" edit 's/"sum_kb": 10000/"sum_kb": 308000/' cpu/default/run.json
wrong "a plant that is off" "validate, peer" "seen planted: a-b +526.0 instead of 500" \
	edit '/,seen,500,own/s/,503,/,526,/' h200/validate-peer/validate.csv
wrong "a plant elsewhere" "validate, soft" "rung planted: a-b +17.0 instead of 0" \
	edit '/,rung,500,other/s/,3,/,17,/' h200/validate-soft/validate.csv
wrong "a CPU's plant" "validate, soft" "seen planted: a-b +5260.0 instead of 5000" \
	edit '/,seen,5000,own/s/,5003,/,5260,/' h200/validate-soft/validate.csv
wrong "the program's verdict" "validate, peer, wall time" "program: off" edit '/,wall,/s/ok$/off/' h200/validate-peer/validate.csv
wrong "a wall time that is off" "validate, soft, wall time" "+5160.0 instead of 5000, allowed 100" \
	edit '/,seen,5000,wall/s/,5003,/,5160,/' h200/validate-soft/validate.csv
wrong "a plant that wasn't" "validate  " "no verdict on written" edit '/,written,/d' cpu/validate/validate.csv
wrong "another plant" "validate, peer" "planted were 400 ns" edit 's/,500,own/,400,own/' h200/validate-peer/validate.csv
wrong "unchecked" "1,000,000 messages" "checked: none" edit 's/"each"/"none"/' cpu/targets/run.json
wrong "a slow queue" "soft over bare lines" "0.486" edit "/${id[cpu-rate]}/s/,20,,/,17,,/" cpu/targets/summary.csv
wrong "dear marks" "observer, a mark" "31.8" edit "/,observer,/s/,200,/,350,/" cpu/targets/summary.csv
wrong "no directory" "all of cpu" "no such directory" rm -r cpu

# Few flagged messages are none too many.
cp -r "$tmp/good" "$tmp/few"
edit "/$(at $p 4 total - latency)/s/,100000,1900,\(.*\)ok,,\$/,10000,1900,\1flagged,unsettled,x/" "$tmp/few/$h"
(cd "$tmp/few" && "$src/scripts/targets" -s path h200 >/dev/null) || { echo "2 % flagged should be met"; bad=1; }
# A rate that the stand-in for a NIC held back is a rate all the same; a scheduler's is not.
flagged() { sed -i "/${id[proxy-16]}/s/ok,,\$/flagged,x,\"$1\"/" "$tmp/few/$h"; }
flagged "the stand-in was the limit: its 4 workers"
(cd "$tmp/few" && "$src/scripts/targets" -s path h200 >/dev/null) || { echo "a stand-in's limit should be met"; bad=1; }
wrong "a scheduler's rate" "one proxy worker" "flagged: 0 posting threads" \
	edit "/${id[proxy-16]}/s/ok,,\$/flagged,crowded,\"0 posting threads\"/" $h
# Results that are older than a point are judged by the others.
edit "/${id[proxy-16]}/d" "$tmp/few/$h"
said=$(cd "$tmp/few" && "$src/scripts/targets" -s path h200) || { echo "results of before a point should be met"; bad=1; }
grep "^note *one proxy worker" <<<"$said" | grep -qF "before this point" || { echo "no note of a missing point in:"; echo "$said"; bad=1; }
[ $bad -eq 0 ] && echo "every wrong result is found out"
