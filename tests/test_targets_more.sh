#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The sections `handoff` and `crossing` of scripts/targets say `met` of made-up results
# in which all is well, and not met, with the reason, of copies in which one thing is
# wrong. The ids of points come from the program and the shipped configs.
#
#   test_targets_more.sh SOURCE FIVESTAGE

set -eu
src=$1 fivestage=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/targets_rig.sh"
bad=0

id=([cpu-rate-checked]=none)
gpu=GPU-01234567
top=$tmp/good/h200
begin() { # DIR CONFIG
	d=$top/$1
	id=([cpu-rate-checked]=none)
	run "$d" 5 $gpu
	nth "$2"
}

# ---- issue, handoff, rates ----

begin T4 figures/T4.ini
# none, gpu-fence, gpu-fence-record, gpu-release, threadfence, sys-fence, sys-fence-record, sys-release
n=0
for ns in 100 390 660 660 690 650 1200 1200; do
	n=$((n + 1))
	row "$d" own-$n submit - latency 10000 $ns
done
# none, release-gpu, sc-gpu, store-release-gpu, release-sys, sc-sys, store-release-sys
for stores in 1 3 4; do
	n=0
	for ns in 20 300 310 300 570 580 570; do
		n=$((n + 1))
		row "$d" fence-own-$stores-$n handoff - fence 10000 $ns
	done
done
begin T5 figures/T5.ini
row "$d" null-one-thread-1 total - rate 5 3
row "$d" null-one-thread-3 total - rate 5 20
row "$d" null-one-thread-4 total - rate 5 30
row "$d" null-one-warp-1 total - rate 5 53
row "$d" null-warps-7 total - rate 5 3300
row "$d" blocks-16-5 total - rate 5 170
row "$d" null-sharing-1 total - rate 5 34
row "$d" null-sharing-4 total - rate 5 10
row "$d" shared-alone-3 submit - latency 10000 650
sed -i '/,rate,/s/ok,,$/flagged,no-back-pressure,"nobody takes the messages, so: none"/' "$d/summary.csv"
begin F4 figures/F4.ini
n=0
for ns in 3300 3310 3320 3330 3340; do
	n=$((n + 1))
	row "$d" own-$n total - latency 10000 $ns
	row "$d" all-$n total - latency 10000 $((ns + 200 * n))
done
begin F3 figures/F3.ini
# 0, 4, 12, 20, ... 92
for e in own-rate-inline own-rate-pointer null-rate-inline; do
	for n in 3 5 7 9 11 13; do row "$d" $e-$n total - rate 5 $((200 - n)); done
done
sed -i '/,rate,/s/ok,,$/flagged,nic-limit,"the stand-in was the limit, so: none"/' "$d/summary.csv"
sed -i "/^1,\($(for n in 3 5 7 9 11 13; do printf '%s\\|' "${id[null-rate-inline-$n]}"; done)-\),/s/flagged,nic-limit,\"the stand-in was the limit/flagged,no-back-pressure,\"nobody takes the messages/" "$d/summary.csv"
longest=${id[own-rate-inline-13]}
for f in T3 launch handoff-quick; do run "$top/$f" 1 $gpu; done
run "$top/long" 5 $gpu
id[long]=$(one rate depth=1024 nic=peer nic_gpu=gpu batch=16 threads=16 messages=100000000)
row "$top/long" long total - rate 5 150
printf 'ok all\n3072 points: 3072 ok, 0 flagged, 0 skipped, 0 failed\nall ok\n' >"$top/gpu_rates.txt"

# ---- crossing, translation ----

begin crossing crossing.ini
row "$d" load-gpu-mem-3 crossing - latency 1000 1200
row "$d" ce-to-gpu-size-9 crossing - bandwidth 20 55
row "$d" ce-to-host-size-9 crossing - bandwidth 20 55
row "$d" ce-host-ways-2 crossing - bandwidth_there 20 50
row "$d" ce-host-ways-2 crossing - bandwidth_back 20 50
row "$d" sm-to-gpu-size-9 crossing - bandwidth 20 51
row "$d" sm-to-host-size-9 crossing - bandwidth 20 52
row "$d" sm-host-ways-2 crossing - bandwidth_there 20 42
row "$d" sm-host-ways-2 crossing - bandwidth_back 20 42
row "$d" ce-local-size-9 crossing - bandwidth 20 2000
row "$d" store-same-gpu-1 crossing - latency 100000 488
row "$d" store-same-gpu-2 crossing - latency 100000 1980
row "$d" store-soft-1 crossing - latency 100000 2000
begin targets targets.ini
row "$d" peer-gpu-fence-1 crossing - latency 100000 491
row "$d" peer-doorbell-host-1 crossing - latency 100000 1924
row "$d" soft-sys-fence-record-1 crossing - latency 100000 1966
cat >"$top/nvbandwidth.txt" <<-END
	SUM host_device_latency_sm 1190.00
	SUM host_to_device_memcpy_ce 55.4
	SUM device_to_host_memcpy_ce 55.3
	SUM host_to_device_bidirectional_memcpy_ce 42
	SUM host_to_device_bidirectional_memcpy_ce 60
	SUM device_to_host_bidirectional_memcpy_ce 51.0
	SUM host_to_device_memcpy_sm 51.4
	SUM device_to_host_memcpy_sm 52.6
	SUM host_to_device_bidirectional_memcpy_sm 42.4
	SUM device_to_host_bidirectional_memcpy_sm 42.4
	SUM device_local_copy 2078.0
END
begin contention contention.ini
for n in 1 2 3 4; do
	for e in peer-load soft-load; do
		row "$d" $e-$n total - latency 10000 $((2000 + 500 * n))
		row "$d" $e-$n completion written-completed latency 10000 $((300 + 490 * n))
	done
done
loaded=${id[peer-load-2]}
begin translation translation.ini
for e in "${!id[@]}"; do
	case $e in
	tlb-gpu-1) echo "1,${id[$e]},1,1,0,tlb-gpu,tlb,mem,gpu,soft,gpu,-,,translation,packed-805306368-49152,none,latency,ns,1,300,,,,,,,,,,measured,-,ok,," >>"$d/summary.csv" ;;
	esac
done
for m in cuda-malloc cu-mem host-alloc host-register dma-buf; do
	id[$m]=$(one register mechanism=$m bytes=4294967296 $([ $m != host-register ] || echo host_page=4k))
	row "$d" $m translation - register 30 1000000
done
# medians, for two runs, and who takes part in each point
for f in crossing contention translation; do
	while IFS=, read -r _ point _ _ _ name _; do
		case $name in
		cuda-malloc | cu-mem | host-alloc | host-register | dma-buf) echo "$point,register,soft,gpu,sm,gpu,none,$name" ;;
		*-load-[2-9]) echo "$point,path,peer,gpu,sm,gpu,both,populate" ;;
		*host* | *soft* | load-gpu-mem-3) echo "$point,path,peer,gpu,sm,host,none,populate" ;;
		*) echo "$point,path,peer,gpu,sm,gpu,none,populate" ;;
		esac
	done < <(sed 1d "$top/$f/summary.csv" | grep -v ',again,') >"$tmp/plan"
	{ echo point,probe,nic,issuer,mover,mem,load,mechanism; sort -u "$tmp/plan"; } >"$top/$f/plan.csv"
	sed -i 's/^\(1,[^,]*,[^,]*,.*,[0-9]\{2,\}\),\([0-9][0-9]*\),,,,,,,,,,\(measured,.*,ok,,\)$/\1,\2,,,,\2,,,,,,\3/' "$top/$f/summary.csv"
	cp -r "$top/$f" "$top/$f-2"
	sed -i 's/"start_ns": .*/"start_ns": 2000000000,/' "$top/$f-2/run.json"
done
# what scripts/crossover.py says of real rows has a test of its own
printf '#!/bin/sh\ncat "$2/crossover.txt"\n' >"$tmp/says" && chmod +x "$tmp/says"
export PYTHON=$tmp/says
run "$top/crossover" 5 $gpu
cat >"$top/crossover/crossover.txt" <<-END
	mechanism=mlock host_page=4k page=4k: crossover between 64 KiB and 256 KiB, by straight lines at 224 KiB [216 KiB, 233 KiB]: staging costs less below it, of 256 B to 4 MiB (8 sizes); registration_cost
	mechanism=host-register host_page=4k page=4k: no crossover: excluded in the range 256 B to 4 MiB (8 sizes), staging costs less at each; registration_cost
END
for f in crossing-quick translation-quick staging; do run "$top/$f" 1 $gpu; done
run "$top/staging-5" 5 $gpu
echo "mechanism=mlock staged_from=host page=4k: crossover between 4 KiB and 16 KiB, by straight lines at 12.5 KiB [11.8 KiB, 13.2 KiB]: staging costs less below it; total_with_registration, intervals 95 % over the runs" >"$top/staging-5/crossover.txt"

said=$(cd "$tmp/good" && "$src/scripts/targets" -s handoff,crossing h200) || bad=1
if [ $bad -ne 0 ] || grep -q '^NOT MET' <<<"$said"; then
	echo "all should be met in:"
	echo "$said"
	exit 1
fi

grep -q '^met *registering against copying *mlock 4k between 64 KiB and 256 KiB; host-register 4k excluded in the range 256 B to 4 MiB (8 sizes)  found' <<<"$said" ||
	{ echo "not what each pair of arms has in:"; echo "$said"; bad=1; }
grep -q '^met *the same, by a proxy for a GPU *mlock host 4k between 4 KiB and 16 KiB  found' <<<"$said" ||
	{ echo "not what a proxy's arms have in:"; echo "$said"; bad=1; }

# of a run of before there were such points it is said, and no more
rm -rf "$tmp/copy" && cp -r "$tmp/good" "$tmp/copy" && sed -i '/,rate,/d' "$tmp/copy/h200/F3/summary.csv"
grep -q '^met *16 queues, inline, 12 to 92 B by 16 *197 195 193 191 189 187 M/s' <<<"$said" ||
	{ echo "no rates by size in:"; echo "$said"; bad=1; }
said=$(cd "$tmp/copy" && "$src/scripts/targets" -s handoff h200) || bad=1
[ "$(grep -c '^note *16 queues, .*no such points' <<<"$said")" -eq 3 ] || { echo "no note in:"; echo "$said"; bad=1; }

wrong() { # NAME SECTION LINE WORDS COMMAND...
	local name=$1 section=$2 line=$3 words=$4 said code=0
	shift 4
	rm -rf "$tmp/copy"
	cp -r "$tmp/good" "$tmp/copy"
	(cd "$tmp/copy/h200" && "$@")
	said=$(cd "$tmp/copy" && "$src/scripts/targets" -s "$section" h200) || code=$?
	if [ $code -ne 1 ] || ! grep "^NOT MET *$line" <<<"$said" | grep -qF -- "$words"; then
		echo "$name: exit $code, expected 1 and \"NOT MET $line\" with \"$words\" in:"
		echo "$said"
		bad=$((bad + 1))
	fi
}
edit() { sed -i "$@"; }
wrong "a step that fences don't explain" handoff "T4, sys-fence " "rest +150" edit 's/,10000,650,/,10000,800,/' T4/summary.csv
wrong "a rate that is missing" handoff "16 queues, inline, 12 to 92 B by 16" "no such row" edit "/^1,$longest,/d" F3/summary.csv
wrong "one that isn't the stand-in's" handoff "16 queues, pointer" "crowded" edit 's/the stand-in was/crowded: it was/' F3/summary.csv
wrong "a slow warp" handoff "one warp" "39 M/s" edit 's/,5,53,/,5,39,/' T5/summary.csv
wrong "a lock that isn't the worst" handoff "256 threads" "40 M/s" edit 's/,5,10,/,5,40,/' T5/summary.csv
wrong "another flag" handoff "one warp" "crowded" edit 's/nobody takes/crowded: nobody takes/' T5/summary.csv
wrong "own queues that differ" handoff "own queue" "6.1 %" edit 's/,10000,3340,/,10000,3500,/' F4/summary.csv
wrong "all queues that don't grow" handoff "all queues" "3500 to 3500" edit 's/,10000,\(37[0-9][0-9]\|39[0-9][0-9]\|41[0-9][0-9]\|43[0-9][0-9]\),/,10000,3500,/' F4/summary.csv
wrong "a failed random point" handoff "random points" "FAILED x" edit '1i FAILED x' gpu_rates.txt
wrong "no long run" handoff "100,000,000" "no such row" edit '/,rate,/d' long/summary.csv
wrong "another bandwidth" crossing "to the GPU, copy engine" "-9.7 %" edit 's/,20,55,/,20,50,/' crossing/summary.csv
wrong "no nvbandwidth" crossing "a load of host memory" "no such line" rm nvbandwidth.txt
wrong "stores that say nothing of the path" crossing "stage 2 by stores, to a CPU" "-12.6 % (1966.0 and 2250.0 ns)" \
	edit 's/,100000,2000,/,100000,2250,/' crossing/summary.csv
wrong "loads that differ" crossing "over PCIe, load=both" "+8.6 %" edit 's/,10000,4000,\(.*\),4000,/,10000,4343,\1,4343,/; s/,10000,3500,,,,3500/,10000,3800,,,,3800/' contention-2/summary.csv
# contention-5: as many of the rows' five processes as $2, of which the second one's totals are $1 times as long
processes() {
	cp -r contention contention-5
	sed -i "s/\"repeat\": [0-9]*/\"repeat\": $2/" contention-5/run.json
	awk -F, -v OFS=, -v slower="$1" -v n="$2" '$17 == "latency" && $3 > n { next } $3 == 2 && $17 == "latency" { $20 *= slower } 1' contention/summary.csv >contention-5/summary.csv
}
export -f processes
wrong "a run that rested" crossing "the set" "the run was resumed" edit '1a\  "resumptions": [\n  ],' contention/run.json
wrong "processes that differ" crossing "over PCIe, load=h2d, several processes" "3000 to 3180 ns in 3, 6.0 %" processes 1.06 3
wrong "too few processes" crossing "over PCIe, load=h2d, several processes" "3000 to 3000 ns in 2, 0.0 %" processes 1 2
wrong "a process that is missing" crossing "over PCIe, load=h2d, several processes" "no row in repetition 6" processes 1 6
wrong "medians that differ" crossing "medians of two runs, crossing, host memory" "at most 4.0 %" edit 's/,,,,1200,/,,,,1248,/' crossing-2/summary.csv
wrong "medians of GPUs that differ" crossing "medians of two runs, crossing, GPUs alone" "at most 3.7 %" edit 's/,,,,488,/,,,,506,/' crossing-2/summary.csv
wrong "medians beside a load that differ" crossing "medians of two runs, contention, beside a load" "at most 10.0 %" edit 's/,,,,4000,/,,,,4400,/' contention-2/summary.csv
wrong "medians of registrations that differ" crossing "medians of two runs, translation, registrations" "at most 10.0 %" \
	edit "/${id[host-alloc]}/s/,,,,1000000,/,,,,1100000,/" translation-2/summary.csv
wrong "a plan that isn't there" crossing "medians of two runs, crossing" "there is no h200/crossing/plan.csv" rm crossing/plan.csv
wrong "a row that one run has flagged" crossing "medians of two runs, crossing, host memory" "); 1 in the first run alone (load-gpu-mem-3 )" \
	edit '/,1200,,,,1200,/!b; /^1,[^,]*,2,/s/,ok,,$/,flagged,crowded,"crowded"/' crossing-2/summary.csv
wrong "rows that the second run lacks" crossing "medians of two runs, contention, beside a load" "; 10 in the first run alone (peer-load" \
	edit "/^1,$loaded,/d" contention-2/summary.csv
wrong "rows that the first run lacks" crossing "medians of two runs, contention, beside a load" "; 10 in the second run alone (peer-load" \
	edit "/^1,$loaded,/d" contention/summary.csv
wrong "a class that the second run lacks" crossing "medians of two runs, translation, registrations" "0 of 0; 25 in the first run alone" \
	edit '/,register,ns,30,/d' translation-2/summary.csv
wrong "a run that stands twice" crossing "medians of two runs, crossing" "the same run twice" cp crossing/run.json crossing-2/run.json
wrong "loads of a run that stands twice" crossing "over PCIe, load=both" "the same run twice" cp contention/run.json contention-2/run.json
wrong "a run that doesn't say when" crossing "medians of two runs, crossing" "no start_ns" edit '/^  "start_ns"/d' crossing/run.json
# control: what neither run has says nothing against the others
rm -rf "$tmp/copy" && cp -r "$tmp/good" "$tmp/copy"
sed -i "/^1,${id[cu-mem]},/s/,ok,,$/,flagged,crowded,\"crowded\"/" "$tmp/copy"/h200/translation{,-2}/summary.csv
said=$(cd "$tmp/copy" && "$src/scripts/targets" -s crossing h200) || true
grep -q '^met *medians of two runs, translation, registrations *20 of 20, at most 0.0 %' <<<"$said" || { echo "flagged in both runs should be met in:"; echo "$said"; bad=1; }
wrong "a short ladder" crossing "a ladder" "8 GiB" edit 's/packed-805306368-49152/packed-805306368-4096/' translation/summary.csv
wrong "no large registration" crossing "register 4 GiB, dma-buf" "no such row" edit "/${id[dma-buf]}/d" translation/summary.csv
wrong "an undecided crossover" crossing "registering against copying" "mlock 4k undecided; host-register 4k excluded in the range" \
	edit '1s/crossover between .*/undecided: near 224 KiB, but others of 8 sizes/' crossover/crossover.txt
wrong "several crossovers" crossing "registering against copying" "mlock 4k more than one crossover; host-register 4k excluded" \
	edit '1s/crossover between .*/more than one crossover, of 256 B to 4 MiB (8 sizes)/' crossover/crossover.txt
wrong "no two arms" crossing "registering against copying" "found or excluded  h200/crossover: cat: h200/crossover/crossover.txt" rm crossover/crossover.txt
wrong "an answer that is none" crossing "registering against copying" "says nothing" edit d crossover/crossover.txt
wrong "one process" crossing "registering against copying" "repeat is 1, at least 3 processes are wanted" edit 's/"repeat": 5/"repeat": 1/' crossover/run.json
wrong "no run of several processes" crossing "registering against copying" "h200/crossover: there is no such run" \
	eval 'cp crossover/crossover.txt translation/ && rm -r crossover'
wrong "no crossover for a GPU" crossing "the same, by a proxy" "mlock host 4k undecided" edit 's/crossover between/undecided: between/' staging-5/crossover.txt
[ $bad -eq 0 ] && echo "every wrong result is found out"
[ $bad -eq 0 ]
