#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# GPU threads that hand messages over to CPU workers: every form, batch and number of workers,
# into a CPU, into SMs and into nobody, each message done once and its payload right; faults end in
# words. The same where the kernel of all ends with what a CPU posts for them. Control: the same points without the fault are among those.
#
#   tests/gpu_workers.sh FIVESTAGE
#
# Exits 77 without a GPU.

. "$(dirname "$0")/gpu_rig.sh"
settings=(probe=rate)

deep="submitter=proxy messages=100000 depth=256"
for nic in soft "peer nic_gpu=gpu" null; do
	n=${nic%% *}
	for proxy in tuned baseline; do
		at="nic=$nic proxy=$proxy $deep"
		expect "$n-$proxy-batch" 0 ' 0 failed' $at blocks=8 rings=8 proxy_batch=1,3,16
		expect "$n-$proxy-workers" 0 ' 0 failed' $at blocks=8 rings=8 proxy_batch=16 workers=1,2,4,8
		expect "$n-$proxy-warp" 0 ' 0 failed' $at threads=32 rings=32 proxy_batch=16
		expect "$n-$proxy-depth" 0 ' 0 failed' nic=$nic proxy=$proxy blocks=2 rings=2 depth=1,7,1024 messages=20000
		expect "$n-$proxy-pointer" 0 ' 0 failed' $at blocks=4 rings=4 payload=pointer size=8,64,4096
		expect "$n-$proxy-doorbell" 0 ' 0 failed' $at blocks=4 rings=4 doorbell=record-ring,ring-record-ring,ring
	done
	expect "$n-shared" 0 ' 0 failed' nic=$nic proxy=baseline $deep blocks=64 threads=4 proxy_batch=16 rings=1,3,32
	expect "$n-stuck" 124 'no completion of message [0-9]+, or no room' nic=$nic $deep blocks=2 fault=stuck-worker
	expect "$n-killed" 124 'whose thread had ended' nic=$nic $deep blocks=2 fault=killed-worker
	for proxy in tuned baseline; do
		expect "$n-$proxy-overrun" 1 'ring 0 was overrun' nic=$nic proxy=$proxy $deep blocks=2 rings=2 fault=ring-overrun
	done
done
for nic in soft "peer nic_gpu=gpu"; do
	n=${nic%% *}
	expect "$n-key" 1 'worker 0: ring 0: message 0: CQE with syndrome 0x13' nic=$nic $deep fault=key
	expect "$n-dead" 124 'no completion of message [0-9]+' nic=$nic $deep fault=dead-nic
done
expect stand-in 0 ' 0 failed' $deep issuer=cpu nic=peer threads=4 proxy_batch=16
for nic in soft "peer nic_gpu=gpu"; do
	n=${nic%% *}
	for boundary in stream graph; do
		at="nic=$nic submitter=cpu boundary=$boundary messages=4000 warmup=64 depth=256"
		expect "$n-$boundary-ends" 0 ' 0 failed' $at blocks=1,3,64
		expect "$n-$boundary-ends-warp" 0 ' 0 failed' $at blocks=2 threads=32 batch=1,4
		expect "$n-$boundary-ends-pointer" 0 ' 0 failed' $at blocks=4 payload=pointer size=8,4096
		expect "$n-$boundary-ends-launch" 1 'launch [0-9]+: ' $at blocks=4 fault=failed-launch
	done
	at="nic=$nic submitter=cpu messages=4000 warmup=64 blocks=4 depth=4"
	expect "$n-ends-stuck" 124 'no kernel was launched behind message' $at fault=stuck-worker
	expect "$n-ends-killed" 124 'whose thread had ended' $at fault=killed-worker
	expect "$n-ends-dead" 124 'no kernel was launched behind message' $at fault=dead-nic
	expect "$n-ends-error" 1 'CQE with syndrome 0x14' $at fault=error-cqe
	expect "$n-ends-after" 0 ' 0 failed' $at
done
ended
