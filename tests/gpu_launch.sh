#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Starts on a GPU: each kind gives figures; a wait of what is started comes back in
# `to_first` and `to_rung` when it stands before the first instruction, and in `to_rung`
# alone when it stands before the doorbell (the control). Fences of a GPU give figures,
# and one of system scope behind stores costs more than the bare store.
#
#   tests/gpu_launch.sh FIVESTAGE
#
# Exits 77 without a GPU.

. "$(dirname "$0")/gpu_rig.sh"
ns=200000

fail() {
	echo "FAILED $*"
	cat "$tmp/log"
	exit 1
}

# run NAME ARG...
run() {
	local name=$1
	shift
	timeout 200 "$fs" run "$@" issuer=gpu -o "$tmp/$name" >"$tmp/log" 2>&1 || fail "$name"
}

# figure NAME METRIC COLUMN [VALUE]: of summary.csv, 20 the mean, 23 the smallest
figure() {
	awk -F, -v m="$2" -v c="$3" -v v="${4-}" '$17 == m && (v == "" || $9 == v) { print $c; exit }' "$tmp/$1/summary.csv"
}

# holds CONDITION: in awk's arithmetic
holds() {
	awk "BEGIN { exit !($1) }"
}

for start in "start=stream" "start=graph" "start=flag flag_mem=host" "start=flag flag_mem=gpu"; do
	n=${start//[^a-z]/-}
	run "$n" probe=launch $start messages=500 warmup=100
	run "$n-first" probe=launch $start messages=500 warmup=100 plant=intent:$ns
	run "$n-bell" probe=launch $start messages=500 warmup=100 plant=rung:$ns
	error=$(figure "$n-first" clock_error 20)
	holds "$(figure "$n" to_rung 23) > 0 && $(figure "$n" to_rung 23) < $ns / 2" || fail "$n: to_rung without a wait"
	holds "$(figure "$n" to_first 23) < $ns / 2" || fail "$n: to_first without a wait"
	holds "$(figure "$n-first" to_first 23) >= $ns - $error - 100" || fail "$n: the wait is not in to_first"
	holds "$(figure "$n-first" to_first 23) < $ns * 1.5" || fail "$n: more than the wait is in to_first"
	holds "$(figure "$n-first" to_rung 23) >= $ns - 100" || fail "$n: the wait is not in to_rung"
	holds "$(figure "$n-bell" to_rung 23) >= $ns - 100" || fail "$n: the doorbell's wait is not in to_rung"
	holds "$(figure "$n-bell" to_first 23) < $ns / 2" || fail "$n: the doorbell's wait is in to_first"
	echo "ok $start: $(figure "$n" to_rung 20) ns to the doorbell, $(figure "$n" to_first 20) +- $error ns to the first instruction"
done

for mem in gpu host; do
	run "fence-$mem" probe=fence queue_mem=$mem fence=none,release-gpu,sc-gpu,store-release-gpu,release-sys,sc-sys,store-release-sys
	holds "$(figure "fence-$mem" fence 20 release-sys) > $(figure "fence-$mem" fence 20 none)" || fail "fences of $mem memory"
	echo "ok fences behind stores to $mem memory"
done
