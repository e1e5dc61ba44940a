#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Messages that are timed while others post through the same NIC, by GPU agents: every order in private and shared
# queues, to a NIC on other SMs and on CPUs, and round trips there, by the agents themselves and behind workers; the
# intervals have no rest; the others carry load, and as much as their pace asks for; faults end in words. Where there are
# two GPUs, the same with the others on the second one, to a NIC on either and on CPUs. Control: with nobody beside it
# nothing is carried.
#
#   tests/gpu_contended.sh FIVESTAGE
#
# Exits 77 without a GPU.

. "$(dirname "$0")/gpu_rig.sh"
settings=(probe=contended messages=4000 depth=64 entries=64)

# mean DIR STAGE INTERVAL METRIC: of each point, one a line, in the order of the values
mean() {
	awk -F, -v stage="$2" -v interval="$3" -v metric="$4" 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
		$col["stage"] == stage && $col["interval"] == interval && $col["metric"] == metric {
			print $col["value"], $col["mean"] }' "$tmp/$1/summary.csv" | sort -n | cut -d' ' -f2
}

orders=gpu-fence,gpu-fence-record,gpu-release,threadfence,sys-fence,sys-fence-record,sys-release
over_pcie=sys-fence,sys-fence-record,sys-release
for nic in "peer nic_gpu=gpu" soft; do
	n=${nic%% *}
	[ "$n" = soft ] && orders=$over_pcie
	safe="nic=$nic ordering=sys-fence-record"
	for queue in private shared; do
		expect "$n-$queue" 0 ' 0 failed' nic=$nic others=8 others_queue=$queue others_batch=4 "ordering=$orders"
		expect "$n-$queue-pointer" 0 ' 0 failed' nic=$nic others=8 others_queue=$queue size=64 "ordering=$orders"
		expect "$n-$queue-many" 0 ' 0 failed' $safe others_queue=$queue others=0,1,8,64
		expect "$n-$queue-paced" 0 ' 0 failed' $safe others_queue=$queue others=8 others_pace=100000
		expect "$n-$queue-key" 1 'CQE with syndrome 0x13' $safe others_queue=$queue others=2 fault=key
		expect "$n-$queue-error" 1 'CQE with syndrome 0x14' $safe others_queue=$queue others=2 fault=error-cqe
		expect "$n-$queue-trip" 0 ' 0 failed' nic=$nic trip=round others=8 others_queue=$queue others_batch=4 others_pace=100000 "ordering=$orders"
		expect "$n-$queue-trip-pointer" 0 ' 0 failed' $safe trip=round others=8 others_queue=$queue size=64 reply=put,signal
		expect "$n-$queue-trip-many" 0 ' 0 failed' $safe trip=round others_queue=$queue others=0,1,8,64
		expect "$n-$queue-trip-silent" 124 'no reply in 2 s; its put is completed' $safe trip=round others_queue=$queue others=2 fault=no-reply
		echo "$n $queue: round trips of $(mean "$n-$queue-trip-many" total - rtt | tr '\n' ' ')ns beside 0, 1, 8 and 64"
		awk -v t="$(mean "$n-$queue-trip-pointer" total - rtt | head -n 1)" -v r="$(mean "$n-$queue-trip-pointer" - - responder | head -n 1)" \
			-v w="$(mean "$n-$queue-trip-pointer" - - both_ways | head -n 1)" 'BEGIN { d = t - r - w; exit !(t > 0 && d < 1 && d > -1) }' ||
			bad "$n $queue: both ways and the responder aren't the round trip"
		p="nic=$nic submitter=proxy proxy=baseline others_queue=$queue"
		expect "$n-$queue-proxy" 0 ' 0 failed' $p others_batch=4 others=0,1,8,16
		expect "$n-$queue-proxy-paced" 0 ' 0 failed' $p others=8 others_pace=100000
		expect "$n-$queue-proxy-trip" 0 ' 0 failed' $p trip=round payload=pointer others=8 others_batch=4 others_pace=100000 reply=put,signal
		expect "$n-$queue-proxy-key" 1 'worker 0: ring [0-9]+: .*CQE with syndrome 0x13' $p others=2 fault=key
		expect "$n-$queue-proxy-overrun" 1 'ring 0 was overrun' $p others=2 fault=ring-overrun
		expect "$n-$queue-proxy-killed" 124 'whose thread had ended' $p others=2 fault=killed-worker
		expect "$n-$queue-proxy-silent" 124 'no reply in 2 s; its put is completed' $p trip=round payload=pointer others=2 fault=no-reply
		echo "$n $queue proxy: carried $(mean "$n-$queue-proxy-paced" - - carried) Mmsg/s at a pace for 0.08; total $(mean "$n-$queue-proxy" total - latency |
			tr '\n' ' ')ns beside 0, 1, 8 and 16"
		awk -v t="$(mean "$n-$queue-proxy-paced" total - latency)" -v s="$(mean "$n-$queue-proxy-paced" submit - latency)" \
			-v w="$(mean "$n-$queue-proxy-paced" - handed-noticed latency)" 'BEGIN { d = t - s - w; exit !(t > 0 && d < 1 && d > -1) }' ||
			bad "$n $queue: submit of a proxy's and what follows aren't the total"
		expect "$n-$queue-dead" 124 'no completion of message' $safe others_queue=$queue others=2 fault=dead-nic
		mapfile -t carried < <(mean "$n-$queue-many" - - carried)
		echo "$n $queue: carried ${carried[*]} Mmsg/s beside 0, 1, 8 and 64; total $(mean "$n-$queue-many" total - latency | tr '\n' ' ')ns"
		awk "BEGIN { exit !(${carried[0]:-1} == 0 && ${carried[1]:-0} > 0 && ${carried[2]:-0} > 0 && ${carried[3]:-0} > 0) }" ||
			bad "$n $queue: nobody beside it carried something, or somebody nothing"
		paced=$(mean "$n-$queue-paced" - - carried)
		echo "$n $queue: carried ${paced:-nothing} Mmsg/s at a pace for 0.08"
		awk "BEGIN { exit !(${paced:-0} <= 0.0808 && ${paced:-0} >= 0.072) }" || bad "$n $queue: not at its pace"
		awk -v t="$(mean "$n-$queue-paced" total - latency)" -v s="$(mean "$n-$queue-paced" submit - latency)" \
			-v w="$(mean "$n-$queue-paced" - rung-noticed latency)" 'BEGIN { d = t - s - w; exit !(t > 0 && d < 1 && d > -1) }' ||
			bad "$n $queue: submit and what follows aren't the total"
	done
done

# The others on GPU 1, with a NIC on other SMs of GPU 0, on GPU 1 and on CPUs: each arm, both trips, every order that is promised there, and
# each payload; a NIC that dies ends agents on both, and so does a launch that fails.
far() {
	local n=$1 queue f at safe
	shift
	at=(others_gpu=1 "$@")
	safe=("${at[@]}" ordering=sys-fence-record)
	for queue in private shared; do
		f=far-$n-$queue
		expect "$f" 0 ' 0 failed' "${at[@]}" others=8 others_queue=$queue others_batch=4 "ordering=$over_pcie"
		expect "$f-pointer" 0 ' 0 failed' "${safe[@]}" others=8 others_queue=$queue size=64
		expect "$f-many" 0 ' 0 failed' "${safe[@]}" others_queue=$queue others=0,1,8,64
		expect "$f-paced" 0 ' 0 failed' "${safe[@]}" others_queue=$queue others=8 others_pace=100000
		expect "$f-trip" 0 ' 0 failed' "${at[@]}" trip=round others=8 others_queue=$queue others_batch=4 others_pace=100000 "ordering=$over_pcie"
		expect "$f-trip-many" 0 ' 0 failed' "${safe[@]}" trip=round others_queue=$queue others=0,1,8,64
		expect "$f-trip-pointer" 0 ' 0 failed' "${safe[@]}" trip=round others=8 others_queue=$queue size=64 reply=put,signal
		expect "$f-dead" 124 'no completion of message' "${safe[@]}" others_queue=$queue others=2 fault=dead-nic
		expect "$f-trip-dead" 124 'the NIC has not completed its put|no completion of message' "${safe[@]}" trip=round \
			others_queue=$queue others=2 fault=dead-nic
		expect "$f-key" 1 'CQE with syndrome 0x13' "${safe[@]}" others_queue=$queue others=2 fault=key
		expect "$f-alone" 1 'injected: the kernel of contended messages' "${safe[@]}" others_queue=$queue others=8 trip=one-way,round fault=failed-launch
		mapfile -t carried < <(mean "$f-many" - - carried)
		echo "$f: carried ${carried[*]} Mmsg/s beside 0, 1, 8 and 64; total $(mean "$f-many" total - latency | tr '\n' ' ')ns"
		awk "BEGIN { exit !(${carried[0]:-1} == 0 && ${carried[1]:-0} > 0 && ${carried[2]:-0} > 0 && ${carried[3]:-0} > 0) }" ||
			bad "$f: nobody beside it carried something, or somebody nothing"
		paced=$(mean "$f-paced" - - carried)
		awk "BEGIN { exit !(${paced:-0} <= 0.0808 && ${paced:-0} >= 0.072) }" || bad "$f: carried ${paced:-nothing} Mmsg/s, not at its pace of 0.08"
		grep -q '"others_gpu": *"gpu 1"' "$tmp/$f/run.json" || bad "$f: run.json doesn't say where the others were"
	done
}
if "$fs" run probe=contended issuer=gpu nic=soft others=1 others_gpu=1 ordering=sys-fence-record --dry-run >"$tmp/log" 2>&1; then
	far own nic=peer nic_gpu=gpu
	far there nic=peer nic_gpu=1
	far soft nic=soft
else
	echo "-- no second GPU: $(tail -n 1 "$tmp/log")"
fi
ended
