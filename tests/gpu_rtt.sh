#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Round trips between GPU agents: every order with both doorbells and replies, each reply
# right; issuer and responder on two SMs; a delay of 50 us comes back within 1 %; faults
# end in words. The same of agents that hand over to CPU workers, by either form of a proxy. Control: without
# a delay there is no row of one, and without workers none of theirs.
#
#   tests/gpu_rtt.sh FIVESTAGE
#
# Exits 77 without a GPU.

. "$(dirname "$0")/gpu_rig.sh"
settings=(probe=rtt messages=2000)

# mean DIR METRIC: of each point, one a line
mean() {
	awk -F, -v metric="$2" 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
		$col["metric"] == metric { print $col["mean"] }' "$tmp/$1/summary.csv"
}

orders=gpu-fence,gpu-fence-record,gpu-release,threadfence,sys-fence,sys-fence-record,sys-release
over_pcie=sys-fence,sys-fence-record,sys-release
for nic in "peer nic_gpu=gpu" soft; do
	n=${nic%% *}
	[ "$n" = soft ] && orders=$over_pcie
	for reply in put signal; do
		for doorbell in record-ring ring; do
			expect "$n-$reply-$doorbell" 0 ' 0 failed' nic=$nic "reply=$reply" "doorbell=$doorbell" "ordering=$orders"
			expect "$n-$reply-$doorbell-pointer" 0 ' 0 failed' nic=$nic "reply=$reply" "doorbell=$doorbell" "ordering=$orders" size=64
		done
		expect "$n-$reply-sizes" 0 ' 0 failed' nic=$nic "reply=$reply" ordering=sys-fence-record size=4,8,28,512,4096
	done
	safe="nic=$nic ordering=sys-fence-record"
	expect "$n-worker" 0 ' 0 failed' $safe nic_workers=1
	expect "$n-key" 1 'put 0: CQE with syndrome 0x13' $safe fault=key
	expect "$n-error" 1 'put [0-9]+: CQE with syndrome 0x14' $safe fault=error-cqe
	expect "$n-dead" 124 'no reply in 2 s; the NIC has not completed its put' $safe fault=dead-nic
	expect "$n-silent" 124 'no reply in 2 s; its put is completed; the responder has seen' $safe fault=no-reply
	if expect "$n-delay" 0 ' 0 failed' $safe respond_ns=50000; then
		delta=$(mean "$n-delay" respond_delta)
		awk "BEGIN { exit !(${delta:-0} >= 49500 && ${delta:-0} <= 50500) }" && echo "ok $n: 50 us came back as $delta ns" ||
			bad "$n: 50 us came back as ${delta:-no figure} ns"
	fi
done
for nic in "peer nic_gpu=gpu" soft; do
	n=${nic%% *}
	for proxy in tuned baseline; do
		by="nic=$nic submitter=proxy proxy=$proxy"
		expect "$n-$proxy" 0 ' 0 failed' $by reply=put,signal
		expect "$n-$proxy-ring" 0 ' 0 failed' $by doorbell=ring reply=signal size=4,28,512
		expect "$n-$proxy-sizes" 0 ' 0 failed' $by payload=pointer size=8,64,4096
		expect "$n-$proxy-laps" 0 ' 0 failed' $by entries=4
		expect "$n-$proxy-stuck" 124 'no reply in 2 s; the NIC has not completed its put; workers rang for' $by fault=stuck-worker
		expect "$n-$proxy-overrun" 1 'worker 0: ring 0 was overrun: where message [0-9]+ should stand it found message' $by fault=ring-overrun
		[ "$(mean "$n-$proxy" helper_rings)" = "$(printf '1\n1')" ] || bad "$n-$proxy: not a doorbell for each message"
	done
	by="nic=$nic submitter=proxy"
	expect "$n-proxy-killed" 124 "no reply in 2 s; .*the issuer's worker had ended; workers rang for" $by fault=killed-worker
	expect "$n-proxy-key" 1 'worker 0: ring 0: message 0: CQE with syndrome 0x13' $by fault=key
	expect "$n-proxy-error" 1 'worker 0: ring 0: message [0-9]+: CQE with syndrome 0x14' $by fault=error-cqe
	expect "$n-proxy-dead" 124 'no reply in 2 s; the NIC has not completed its put; workers rang for' $by fault=dead-nic
	expect "$n-proxy-silent" 124 'no reply in 2 s; its put is completed; workers rang for' $by fault=no-reply
	if expect "$n-proxy-delay" 0 ' 0 failed' $by respond_ns=50000; then
		delta=$(mean "$n-proxy-delay" respond_delta)
		awk "BEGIN { exit !(${delta:-0} >= 49500 && ${delta:-0} <= 50500) }" && echo "ok $n, proxy: 50 us came back as $delta ns" ||
			bad "$n, proxy: 50 us came back as ${delta:-no figure} ns"
	fi
done
[ -z "$(mean peer-put-ring helper_rings)" ] || bad "workers without any"
[ -z "$(mean peer-put-ring respond_delta)" ] || bad "a delay without one"
if [ "$(found "$tmp/peer-worker" issuer_smid)" = "$(found "$tmp/peer-worker" responder_smid)" ]; then
	bad "issuer and responder on one SM"
fi
expect host 0 ' 0 failed' nic=peer nic_gpu=gpu ordering=sys-fence-record queue_mem=auto,host
expect landed 0 ' 0 failed' nic=peer nic_gpu=gpu ordering=sys-fence-record dst_mem=auto,host src_mem=host size=64
expect stand-in 0 ' 0 failed' issuer=cpu nic=peer ordering=sys-fence-record
expect proxy-stand-in 0 ' 0 failed' issuer=cpu nic=peer submitter=proxy proxy=tuned,baseline
expect proxy-landed 0 ' 0 failed' nic=peer nic_gpu=gpu submitter=proxy dst_mem=auto,host src_mem=host size=64
ended
