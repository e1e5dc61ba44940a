#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What scripts/targets says of two GPUs, and of the section `submission`: `met` of made-up results in which
# all is well, and not met, with the reason, of copies in which one thing is wrong; a note of runs that are
# not there. The ids of points come from the program and the shipped configs.
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
path nvlink-blueflame-gpu-fence 3100 1280 300 0 960
path nvlink-blueflame 4000 1280 1200 0 960
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

begin x-pair/crossing crossing.ini
row "$d" store-other-gpu-2 crossing - latency 100000 1300
row "$d" store-other-gpu-3 crossing - latency 100000 2200
row "$d" store-other-gpu-1 crossing - latency 100000 1600
row "$d" load-gpu-mem-2 crossing - latency 100000 850
row "$d" ce-peer-ways-1 crossing - bandwidth 20 395
row "$d" ce-peer-ways-2 crossing - bandwidth 20 772
row "$d" sm-peer-ways-1 crossing - bandwidth 20 370
row "$d" sm-peer-ways-2 crossing - bandwidth 20 730
row "$d" ce-peers-ways-1 crossing - bandwidth 20 394
row "$d" ce-peers-ways-2 crossing - bandwidth 20 394
row "$d" sm-peers-ways-1 crossing - bandwidth 20 371
row "$d" sm-peers-ways-2 crossing - bandwidth 20 371
both_by_sms=${id[sm-peer-ways-2]}
for i in "latency_sm 1658" "memcpy_write_ce 792" "bidirectional_memcpy_write_ce_total 1567" "memcpy_write_sm 740" \
	"bidirectional_memcpy_write_sm_total 1463"; do
	echo "SUM device_to_device_$i" # both pairs of two GPUs
done >"$tmp/good/x-pair/nvbandwidth.txt"
for i in "one_to_all_write_ce 790" "all_to_one_write_ce 790" "one_to_all_write_sm 740" "all_to_one_write_sm 740"; do
	echo "SUM $i"
done >>"$tmp/good/x-pair/nvbandwidth.txt"
d=$tmp/good/x-pair/long
run "$d" 5 $gpu
id[long]=$(one rate nic=peer nic_gpu=1 ordering=sys-fence-record depth=1024 batch=16 threads=16 messages=100000000)
row "$d" long total - rate 5 110

# ---- who submits ----

begin h200/submitters submitters.ini
row "$d" submitter-1 total - latency 10000 3479
row "$d" proxy-1 total - latency 10000 3500
row "$d" proxy-1 submit - latency 10000 140
row "$d" proxy-1 translation taken-resolved latency 10000 26
row "$d" proxy-1 handoff resolved-built latency 10000 31
row "$d" proxy-1 handoff built-rung latency 10000 29
row "$d" proxy-1 crossing rung-seen latency 10000 190
row "$d" proxy-1 crossing completed-caught latency 10000 178
row "$d" proxy-1 completion caught-relayed latency 10000 29
row "$d" notify-1 - - helper_cores 10000 1.00
row "$d" notify-2 - - helper_cores 10000 0.22
row "$d" notify-2 crossing - wakeup 9990 4900
begin h200/F7 figures/F7.ini
row "$d" batch-3 total - rate 5 32
sed -i '/,rate,/s/ok,,$/flagged,nic-limit,"the stand-in was the limit: its 4 workers"/' "$d/summary.csv"
begin h200/F6 figures/F6.ini
printf 'point,trip,\nx,round,\n' >"$d/plan.csv"
# queue EXPERIMENT ROOM FENCE REST [METRIC]
queue() {
	row "$d" "$1" total - "${5-latency}" 10000 $(($2 + $3 + $4))
	row "$d" "$1" issue intent-reserved latency 10000 "$2"
	row "$d" "$1" handoff turn-rung latency 10000 "$3"
	row "$d" "$1" - rung-noticed latency 10000 "$4"
	row "$d" "$1" - - carried 33000 0.32
}
queue own-paced-1 240 320 3440
queue own-paced-2 500 330 2470
queue soft-paced-1 240 1200 3560
queue soft-paced-2 1040 1210 3750
queue own-trip-paced-1 240 320 5440 rtt
queue own-trip-paced-2 440 320 5840 rtt
queue soft-trip-paced-1 240 1200 8560 rtt
queue soft-trip-paced-2 240 1200 9560 rtt
for q in "1 500 9500" "2 700 29300"; do
	read -r n room way <<<"$q"
	row "$d" "proxy-paced-$n" total - latency 10000 $((room + way))
	row "$d" "proxy-paced-$n" issue intent-reserved latency 10000 "$room"
	row "$d" "proxy-paced-$n" - handed-noticed latency 10000 "$way"
	row "$d" "proxy-paced-$n" - - carried 33000 0.3"$n"
done
peer_shared=${id[own-paced-2]} soft_shared=${id[soft-paced-2]} trip_shared=${id[own-trip-paced-2]}
sed -i 's/\(,total,-,.*,[lr][at]t[a-z]*,ns,10000,\)\([0-9]*\)00,,,/\1\200,\200,\240,/' "$d/summary.csv" # an interval of 40 ns
begin h200/T3-rtt figures/T3-rtt.ini
row "$d" own-delay-2 - - respond_delta 300 50030
for f in visible F8 pays submit-quick; do run "$tmp/good/h200/$f" 1 $gpu; done

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

wrong "both ways as one" x-pair '' "both ways, by SMs of either GPU" "-50.1 % (365, nvbandwidth 731.5)" \
	edit "/$both_by_sms/s/,730,/,365,/" crossing/summary.csv
wrong "a sum of one pair" x-pair '' "to the other GPU, copy engine" "-50.1 %" edit '/memcpy_write_ce /s/792/1584/' nvbandwidth.txt
wrong "stores that say nothing of the path" x-pair '' "stage 2 by stores over NVLink" "-14.7 % (1280.0 and 1500.0 ns)" \
	edit 's/,100000,1300,/,100000,1500,/' crossing/summary.csv

good h200 submission
wrong "a slow enqueue" h200 submission "submit, tuned proxy" "151 ns" edit '/,submit,/s/,10000,140,/,10000,151,/' submitters/summary.csv
wrong "a dear proxy" h200 submission "total, tuned proxy" "+521 ns (4000 of 3479), hops 483" \
	edit '/,total,/s/,10000,3500,/,10000,4000,/' submitters/summary.csv
wrong "a hop without a row" h200 submission "total, tuned proxy" "no such row" edit '/,caught-relayed,/d' submitters/summary.csv
wrong "no wake-up" h200 submission "interrupt against poll" "no such row" edit '/,wakeup,/d' submitters/summary.csv
wrong "another state of a point" h200 submission "interrupt against poll" "crowded" \
	edit '/,helper_cores,/s/ok,,$/flagged,crowded,crowded/' submitters/summary.csv
wrong "a slow worker" h200 submission "one worker" "9.9 M/s" edit 's/,5,32,/,5,9.9,/' F7/summary.csv
wrong "a worker whom the scheduler held back" h200 submission "one worker" "crowded" edit 's/the stand-in/crowded/' F7/summary.csv
wrong "another load" h200 submission "shared queue over private, peer" "0.3 and 0.32 M/s" \
	edit "/$peer_shared.*,carried,/s/,33000,0.32,/,33000,0.3,/" F6/summary.csv
wrong "a load that was late" h200 submission "shared queue over private, soft" "behind" \
	edit "/$soft_shared.*,carried,/s/ok,,\$/flagged,behind,behind/" F6/summary.csv
wrong "another load beside round trips" h200 submission "the same of a round trip, peer" "0.3 and 0.32 M/s" \
	edit "/$trip_shared.*,carried,/s/,33000,0.32,/,33000,0.3,/" F6/summary.csv
wrong "no round trips though there should be" h200 submission "the same of a round trip, peer" "no such row" edit "/$trip_shared/d" F6/summary.csv
wrong "no queue that is shared" h200 submission "shared queue over private, soft" "no such row" edit "/$soft_shared/d" F6/summary.csv
wrong "a delay that doesn't come back" h200 submission "a delay of 50 us" "+1.20 % (50600 ns)" edit 's/,300,50030,/,300,50600,/' T3-rtt/summary.csv
wrong "a slow set" h200 submission "the set" "368 s" edit 's/21000000000/249000000000/' visible/run.json
wrong "a slow quick form" h200 submission "the quick form" "61 s" edit 's/21000000000/62000000000/' submit-quick/run.json
# which interval differs most, and by how much the totals do
said=$(cd "$tmp/good" && "$src/scripts/targets" -s submission h200)
for words in "0.825 \[0.819, 0.831\] (3300 of 4000 ns), most in rung-noticed -970" "1.200 \[1.194, 1.206\] (6000 of 5000 ns), most in intent-reserved +800" \
	"^note *the same behind a proxy, soft  *3.000 \[2.994, 3.006\] (30000 of 10000 ns), most in handed-noticed +19800; 0.32 and 0.31 M/s: these loads don't compare" \
	"^note *the same of a round trip behind a proxy .*no such row" \
	"1.100 \[1.095, 1.105\] (6600 of 6000 ns), most in rung-noticed +400" "(11000 of 10000 ns), most in rung-noticed +1000"; do
	grep -q "$words" <<<"$said" || { echo "no \"$words\" in:"; echo "$said"; bad=$((bad + 1)); }
done
# a run from before there were round trips
rm "$tmp/good/h200/F6/plan.csv"
said=$(cd "$tmp/good" && "$src/scripts/targets" -s submission h200) || { echo "a run without round trips should be a note"; bad=$((bad + 1)); }
grep -q '^note *the same of a round trip.*without any' <<<"$said" || { echo "no note of round trips in:"; echo "$said"; bad=$((bad + 1)); }
# runs that are not there
rm -r "$tmp/good/h200"/{submitters,F6,F7,pays,submit-quick}
said=$(cd "$tmp/good" && "$src/scripts/targets" -s submission h200) || { echo "what is not there should be a note"; bad=$((bad + 1)); }
[ "$(grep -c '^note .*there is no such run' <<<"$said")" = 5 ] || { echo "not five notes in:"; echo "$said"; bad=$((bad + 1)); }

[ $bad -eq 0 ] && echo "every wrong result is found out"
[ $bad -eq 0 ]
