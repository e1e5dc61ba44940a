#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Kernels that end with what a CPU has to send for them, and are launched again when it has come:
# by stream and by graph, into a CPU and into SMs, every payload right; a pass ends at every block's
# length; faults end in words. Control: the same points without the fault are among those.
#
#   tests/gpu_boundary.sh FIVESTAGE
#
# Exits 77 without a GPU.

. "$(dirname "$0")/gpu_rig.sh"
patience=200
settings=(probe=path submitter=cpu)

for nic in soft "peer nic_gpu=gpu"; do
	n=${nic%% *}
	for boundary in stream graph; do
		at="nic=$nic boundary=$boundary messages=2000"
		expect "$n-$boundary-sizes" 0 ' 0 failed' $at size=0,8,28,29,4096,65536
		expect "$n-$boundary-batch" 0 ' 0 failed' $at depth=16 batch=16
		expect "$n-$boundary-odd" 0 ' 0 failed' nic=$nic boundary=$boundary depth=5 batch=5 marks=outer messages=1,2,129,601
		expect "$n-$boundary-rate" 0 ' 0 failed' $at depth=8 batch=8 metric=rate
		expect "$n-$boundary-launch" 1 'launch [0-9]+: ' $at fault=failed-launch
	done
	expect "$n-stuck" 124 'the helper rang for [0-9]+' nic=$nic messages=2000 fault=stuck-worker
	expect "$n-killed" 124 'thread had ended' nic=$nic messages=2000 fault=killed-worker
	expect "$n-dead" 124 'the helper rang for [0-9]+' nic=$nic messages=2000 fault=dead-nic
	expect "$n-error" 1 'CQE with syndrome 0x14' nic=$nic messages=2000 fault=error-cqe
done
expect after 0 ' 0 failed' nic=soft messages=2000 boundary=stream,graph
ended
