#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Agents run on the SM that was asked for, with and without traffic beside them; where two
# halves of an L2 are found, a crossing to the other half is the longer one; an SM that
# isn't there fails the point by name. Control: where one half alone is found, `far` fails.
#
#   tests/gpu_seats.sh FIVESTAGE
#
# Exits 77 without a GPU.

. "$(dirname "$0")/gpu_rig.sh"

# seats NAME ISSUER NIC SETTING...: each point's agents were on these SMs
seats() {
	local name=$1 issuer=$2 nic=$3 got
	shift 3
	if ! timeout 100 "$fs" run messages=2000 "sm=$issuer" "$@" -o "$tmp/$name" >"$tmp/log" 2>&1; then
		bad "$name: exit $?"
		return
	fi
	got=$(found "$tmp/$name" issuer_smid | sort -u | tr '\n' ' ')
	[ "$got" = "$issuer " ] || { bad "$name: issued by SM $got"; return; }
	got=$(found "$tmp/$name" nic_smid | sort -u | tr '\n' ' ')
	[ "$got" = "$nic" ] || { bad "$name: the NIC's SM was $got"; return; }
	echo "ok $name"
}

"$fs" run nic=peer nic_gpu=gpu messages=2000 -o "$tmp/probe-near" >"$tmp/log" 2>&1 || bad "near"
seats path 5 "20 " nic=peer nic_gpu=gpu nic_sm=20
seats path-load 5 "20 " nic=peer nic_gpu=gpu nic_sm=20 load=none,hbm,sm-read,sm-write
seats path-load-first 0 "8 " nic=peer nic_gpu=gpu nic_sm=8 load=none,hbm,sm-read,sm-write
seats path-load-soft 0 "" nic=soft ordering=sys-fence-record load=hbm,sm-read,sm-write
# the half is found before the load holds SMs: the same seat with it and without
seats path-load-near 0 "$(found "$tmp/probe-near" nic_smid | head -n 1) " nic=peer nic_gpu=gpu load=none,hbm,sm-read,sm-write
seats path-soft 77 "" nic=soft
seats path-null 3 "" nic=null
seats pingpong 12 "99 " probe=pingpong nic=peer nic_gpu=gpu nic_sm=99

crossing() {
	timeout 60 "$fs" run probe=pingpong nic=peer nic_gpu=gpu "nic_sm=$1" lines=8 -o "$tmp/$1" >"$tmp/log" 2>&1 || return
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
		$col["stage"] == "crossing" && $col["metric"] == "latency" { print $col["mean"] }' "$tmp/$1/summary.csv"
}
near=$(crossing near) || bad "near"
if [ "$(found "$tmp/near" l2_far_sms)" = 0 ]; then
	crossing far >/dev/null && bad "far was found where there is one half"
else
	far=$(crossing far) || bad "far"
	if awk "BEGIN { exit !(${far:-0} > 1.1 * ${near:-1}) }"; then
		echo "ok near $near ns, far $far ns"
	else
		bad "near ${near:-no figure} ns, far ${far:-no figure} ns"
	fi
fi

"$fs" run sm=1000 nic=null messages=128 -o "$tmp/absent" >"$tmp/log" 2>&1
[ $? -eq 2 ] && grep -q 'sm=1000: gpu 0 has no such SM; legal: 0\.\.' "$tmp/log" && echo "ok absent" || bad "an SM that isn't there"
ended
