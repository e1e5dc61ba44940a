#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What can go wrong with a GPU ends in a reason, and the other points go on: out of
# memory, a sticky error, a lost device (by injected return codes), spoiled WQEs, a
# NIC that never answers.
#
#   tests/gpu_points.sh FIVESTAGE
#
# Exits 77 without a GPU.

. "$(dirname "$0")/gpu_rig.sh"
patience=200

small="messages=512 warmup=128"
for nic in soft "peer nic_gpu=gpu"; do
	n=${nic%% *}
	expect "$n-opcode" 1 '0x02' nic=$nic fault=opcode $small
	expect "$n-ds" 1 '0x02' nic=$nic fault=ds $small
	expect "$n-qpn" 1 '0x02' nic=$nic fault=qpn $small
	expect "$n-index" 1 '0x02' nic=$nic fault=index $small
	expect "$n-length" 1 '0x01' nic=$nic fault=length $small
	expect "$n-key" 1 '0x13' nic=$nic fault=key $small
	expect "$n-lkey" 1 '0x04' nic=$nic fault=lkey payload=pointer $small
	expect "$n-dead" '1' 'reached each mark' nic=$nic fault=dead-nic,none $small
done
# the point beside the bad one is measured
expect memory 1 'out of memory|memory allocation' nic=peer nic_gpu=gpu fault=gpu-memory,none $small
expect sticky 1 'launch failure|illegal|unspecified' nic=peer nic_gpu=gpu fault=gpu-sticky,none $small
expect lost 1 'GPU is gone' nic=peer nic_gpu=gpu fault=gpu-lost,none $small
for d in memory sticky lost soft-dead peer-dead; do
	grep -q ',total,-,none,latency,ns,512,.*,ok,' "$tmp/$d/summary.csv" || {
		echo "FAILED $d: the good point has no result"
		failed=$((failed + 1))
	}
done
# every op, page and doorbell, with payloads checked
for a in "op=write payload=pointer size=0,8,63,4096,100000" "op=read size=8,64,4097" "op=nop" \
	"page=4k,64k,2m size=300000" "doorbell=record-ring,ring-record-ring,ring" \
	"ordering=gpu-fence,gpu-fence-record,gpu-release,threadfence,sys-fence,sys-fence-record,sys-release" \
	"recover_every=3" "marks=rotate,outer" "metric=rate depth=64 batch=16 messages=4096" \
	"depth=64 batch=8 messages=1024"; do
	case $a in *messages=*) m= ;; *) m=$small ;; esac
	expect "legal-${a//[^a-z0-9]/-}" 0 . nic=peer nic_gpu=gpu ordering=sys-fence-record $m $(echo "$a" | sed 's/ordering=[^ ]*//')
done
# BlueFlame by lanes and by a copy: each fence, other places, nobody behind it, in recovery
fences=gpu-fence,gpu-fence-record,threadfence,sys-fence,sys-fence-record
for d in blueflame blueflame-bulk; do
	expect "$d" 0 . nic=peer nic_gpu=gpu doorbell=$d ordering=$fences $small
	expect "$d-pointer" 0 . nic=peer nic_gpu=gpu doorbell=$d payload=pointer size=8,64,4097 $small
	expect "$d-host" 0 . nic=peer nic_gpu=gpu doorbell=$d db_mem=host,gpu $small
	expect "$d-soft" 0 . nic=soft doorbell=$d payload=inline,pointer $small
	expect "$d-null" 0 . nic=null doorbell=$d depth=64 metric=latency,rate $small
	expect "$d-marks" 0 . nic=peer nic_gpu=gpu doorbell=$d marks=all,outer,rotate $small
	expect "$d-recovery" 0 . nic=peer nic_gpu=gpu doorbell=$d recover_every=1,3 $small
	expect "$d-key" 1 '0x13' nic=peer nic_gpu=gpu doorbell=$d fault=key $small
	# each store of the line has arrived in time: nothing came from the queue
	for n in "$d" "$d-pointer" "$d-host" "$d-soft"; do
		grep ',from_queue,' "$tmp/$n/summary.csv" >"$tmp/lines"
		if [ ! -s "$tmp/lines" ] || grep -qvE ',from_queue,count,[0-9]+,0,' "$tmp/lines"; then
			echo "FAILED $n: WQEs came from the queue, or nobody counted"
			failed=$((failed + 1))
		fi
	done
	timeout 200 "$fs" validate nic=peer nic_gpu=gpu doorbell=$d -o "$tmp/$d-validate" >"$tmp/log" 2>&1 || {
		echo "FAILED $d-validate"
		cat "$tmp/log"
		failed=$((failed + 1))
	}
done
expect orderings 0 . nic=peer nic_gpu=gpu $small \
	ordering=gpu-fence,gpu-fence-record,gpu-release,threadfence,sys-fence,sys-fence-record,sys-release

ended
