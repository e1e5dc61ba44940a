#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# compute-sanitizer's memcheck finds nothing in a small run, in no process of it.
# Kernels are loaded as they are needed, or all 200 of them would be instrumented.
#
#   tests/gpu_memcheck.sh FIVESTAGE
#
# Exits 77 without a GPU or without compute-sanitizer.

set -u
fs=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

command -v compute-sanitizer >/dev/null || { echo "skipped: no compute-sanitizer"; exit 77; }
"$fs" run issuer=gpu nic=null messages=128 -o "$tmp/probe" >"$tmp/log" 2>&1
if grep -q 'needs a GPU' "$tmp/log"; then
	echo "skipped: $(grep -m1 'needs a GPU' "$tmp/log")"
	exit 77
fi
CUDA_MODULE_LOADING=LAZY compute-sanitizer --tool memcheck --target-processes all --error-exitcode 9 \
	"$fs" run nic=peer nic_gpu=gpu messages=256 warmup=128 ordering=sys-fence-record size=8,100,9000 \
	--timeout 280 -o "$tmp/run" >"$tmp/log" 2>&1
rc=$?
if [ $rc -ne 0 ] || ! grep -q 'ERROR SUMMARY: 0 errors' "$tmp/log"; then
	echo "FAILED memcheck: exit $rc"
	tail -40 "$tmp/log"
	exit 1
fi
echo "memcheck: $(grep -c 'ERROR SUMMARY: 0 errors' "$tmp/log") processes without an error"
