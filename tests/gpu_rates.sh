#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Rates with GPU agents: every form of sharing into every NIC ends with each message
# done once and its payload right, faults end in words, and more agents than fit are
# refused. With --all some thousands of combinations as well, a few messages each.
#
#   tests/gpu_rates.sh FIVESTAGE [--all]
#
# Exits 77 without a GPU.

set -u
fs=$1
all=${2-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

"$fs" run probe=rate issuer=gpu nic=null messages=128 -o "$tmp/probe" >"$tmp/log" 2>&1
if grep -q 'needs a GPU' "$tmp/log"; then
	echo "skipped: $(grep -m1 'needs a GPU' "$tmp/log")"
	exit 77
fi

# A torn WQE is no wonder where the order is unsafe; then the words have to say so.
unsafe_said() {
	grep -E 'CQE with syndrome 0x0[12]' "$tmp/log" | grep -v 'order_class unsafe.; guaranteed: ' >"$tmp/unsaid" || return 0
	echo "FAILED $1: a WQE wasn't whole, and nothing is said of its order"
	cat "$tmp/unsaid"
	failed=$((failed + 1))
}

# expect NAME EXIT REGEX ARG...: the run ends with EXIT and says REGEX
expect() {
	local name=$1 want=$2 regex=$3
	shift 3
	timeout 300 "$fs" run probe=rate "$@" -o "$tmp/$name" >"$tmp/log" 2>&1
	local got=$?
	unsafe_said "$name"
	if [ $got -ne "$want" ] || ! grep -qE "$regex" "$tmp/log"; then
		echo "FAILED $name: exit $got, expected $want and /$regex/"
		tail -n 30 "$tmp/log"
		failed=$((failed + 1))
	else
		echo "ok $name"
	fi
}

small="messages=20000 warmup=1000 depth=64"
for nic in null "soft ordering=sys-fence-record" "peer nic_gpu=gpu"; do
	n=${nic%% *}
	expect "$n-exclusive" 0 ' 0 failed' nic=$nic $small threads=1,2,33 batch=4
	expect "$n-blocks" 0 ' 0 failed' nic=$nic $small blocks=1,2,16 batch=1
	expect "$n-warp" 0 ' 0 failed' nic=$nic $small sharing=warp blocks=1,2,8 batch=32
	expect "$n-warps" 0 ' 0 failed' nic=$nic $small sharing=warp threads=32,64,256 queues=1 batch=32
	expect "$n-handoff" 0 ' 0 failed' nic=$nic $small sharing=block,gpu,lock threads=40 batch=2
	expect "$n-shared" 0 ' 0 failed' nic=$nic $small sharing=gpu,lock threads=8 blocks=3 queues=4
	expect "$n-pointer" 0 ' 0 failed' nic=$nic $small payload=pointer size=8,64,1000 threads=16 batch=4
	expect "$n-signal" 0 ' 0 failed' nic=$nic $small signal=1,4,16 batch=16 sharing=warp
	orders=sys-fence,sys-fence-record,sys-release
	[ "$n" = soft ] || orders=none,gpu-fence,gpu-fence-record,gpu-release,threadfence,$orders
	expect "$n-order" 0 ' 0 failed' nic=${nic/ordering=*/} $small ordering=$orders threads=4
	# WQEs of two basic blocks
	expect "$n-two" 0 ' 0 failed' nic=$nic $small payload=inline size=29,44,61,92 threads=33 batch=4 signal=4
	expect "$n-two-order" 0 ' 0 failed' nic=${nic/ordering=*/} $small payload=inline size=92 ordering=$orders threads=4
	expect "$n-two-wrap" 0 ' 0 failed' nic=$nic messages=400000 depth=512 batch=16 blocks=16 payload=inline size=92
	# groups of WQEs of a lone thread, and batches that are none
	expect "$n-groups" 0 ' 0 failed' nic=$nic $small batch=1,3,4,8,24,64
	expect "$n-group-signal" 0 ' 0 failed' nic=$nic $small batch=8 signal=1,2,4,8,16
	expect "$n-group-size" 0 ' 0 failed' nic=$nic $small batch=8 size=0,8,12,13,28
	expect "$n-group-wrap" 0 ' 0 failed' nic=$nic messages=400000 depth=512 batch=64
	# a lock that is unfair: some may have no message at all
	expect "$n-lock" 0 ' 0 failed' nic=$nic sharing=lock threads=32,256 depth=1024 entries=1024
	# an index of 16 bits goes round several times
	expect "$n-wrap" 0 ' 0 failed' nic=$nic messages=400000 depth=512 batch=32 sharing=warp
done
for nic in "soft ordering=sys-fence-record" "peer nic_gpu=gpu"; do
	n=${nic%% *}
	# the lanes of a NIC's warp write one CQE a round
	expect "$n-collapsed" 0 ' 0 failed' nic=$nic $small cq=collapsed sharing=warp batch=32 signal=1,32
	expect "$n-collapsed-shared" 0 ' 0 failed' nic=$nic $small cq=collapsed sharing=gpu,lock threads=40 batch=2
	expect "$n-collapsed-wrap" 0 ' 0 failed' nic=$nic messages=400000 depth=512 batch=32 sharing=warp cq=collapsed
	expect "$n-key" 1 '0x13' nic=$nic $small fault=key
	expect "$n-two-key" 1 '0x13' nic=$nic $small fault=key payload=inline size=92
	expect "$n-two-dead" 1 'no completion of message' nic=$nic $small fault=dead-nic,none threads=4 payload=inline size=92
	expect "$n-two-collapsed" 0 ' 0 failed' nic=$nic $small cq=collapsed payload=inline size=92 batch=16 signal=1,16
	expect "$n-error-cqe" 1 '0x14' nic=$nic $small fault=error-cqe sharing=warp batch=32
	expect "$n-dead" 1 'no completion of message' nic=$nic $small fault=dead-nic,none threads=4
done
expect two-shared 2 'legal: sharing=exclusive' nic=peer nic_gpu=gpu $small payload=inline size=92 sharing=warp
expect too-many 2 'at most 16384' nic=peer nic_gpu=gpu threads=256 blocks=1024 sharing=gpu messages=300000
# behind a fence of GPU scope a NIC on a CPU may see half a WQE; if it does, the words say which order is safe
timeout 300 "$fs" run probe=rate nic=soft ordering=gpu-fence blocks=16 $small -o "$tmp/unsafe" >"$tmp/log" 2>&1
unsafe_said unsafe
expect memory 1 'out of memory|memory allocation' nic=peer nic_gpu=gpu fault=gpu-memory,none $small
if [ "$all" = --all ]; then
	expect all 0 ' 0 failed' --cross nic=peer nic_gpu=gpu messages=256 warmup=64 depth=64 marks=outer \
		sharing=exclusive,block,gpu,lock ordering=none,gpu-fence,gpu-fence-record,gpu-release,threadfence,sys-fence,sys-fence-record,sys-release \
		doorbell=record-ring,ring-record-ring,ring batch=1,4 signal=1,4 size=0,27,200 threads=1,33
	tail -n 3 "$tmp/log"
fi
[ $failed -eq 0 ] && echo "all ok"
[ $failed -eq 0 ]
