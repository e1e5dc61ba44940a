#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# compute-sanitizer's memcheck finds nothing: in the issuer's kernels (into nobody, and
# with a CPU thread as NIC), and in the NIC's kernel, which it looks at alone, since it
# runs one kernel at a time and the issuer's and the NIC's need each other.
#
#   tests/gpu_memcheck.sh FIVESTAGE GPU_ENGINE
#
# Kernels are loaded as they are needed, or all 200 of them would be instrumented.
# Exits 77 without a GPU or without compute-sanitizer.

export CUDA_MODULE_LOADING=LAZY
command -v compute-sanitizer >/dev/null || { echo "skipped: no compute-sanitizer"; exit 77; }
. "$(dirname "$0")/gpu_rig.sh"
engine=$2

# check WHAT COMMAND...
check() {
	local what=$1 rc
	shift
	timeout 200 compute-sanitizer --tool memcheck --target-processes all --error-exitcode 9 "$@" >"$tmp/log" 2>&1
	rc=$?
	if [ $rc -ne 0 ] || ! grep -q 'ERROR SUMMARY: 0 errors' "$tmp/log"; then
		echo "FAILED memcheck, $what: exit $rc"
		tail -40 "$tmp/log"
		exit 1
	fi
	echo "memcheck, $what: $(grep -c 'ERROR SUMMARY: 0 errors' "$tmp/log") without an error"
}
run="run --timeout 180 issuer=gpu warmup=128"
check "into nobody" "$fs" $run messages=256 nic=null ordering=sys-fence-record -o "$tmp/1"
check "a batch, as a rate" "$fs" $run messages=256 nic=null metric=rate marks=outer depth=64 batch=16 -o "$tmp/2"
check "with a CPU as NIC" "$fs" $run messages=256 nic=soft size=8,100,9000 -o "$tmp/3"
check "a plant" "$fs" $run nic=soft messages=512 plant=built:500 -o "$tmp/4"
check "a WQE in the doorbell's line" "$fs" $run messages=256 nic=soft doorbell=blueflame -o "$tmp/5"
check "rates" "$fs" $run messages=4096 probe=rate nic=null threads=64 queues=1 batch=4 depth=1024 sharing=warp,block,gpu,lock -o "$tmp/6"
check "the NIC's kernel" "$engine"
