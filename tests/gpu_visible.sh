#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A flag behind its payload: where the memory models promise the order, no violation is seen,
# wherever payload and flag live and whoever writes and reads; a flag that is stored before its
# payload and a payload that is read before its flag are counted (the controls). What is only
# relied on, or unsafe, is printed and not judged.
#
#   tests/gpu_visible.sh FIVESTAGE
#
# Exits 77 without a GPU.

. "$(dirname "$0")/gpu_rig.sh"

# of DIR METRIC COLUMN: of each point
of() {
	[ -f "$1/summary.csv" ] || return
	awk -F, -v metric="$2" -v want="$3" 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
		$col["metric"] == metric { print $col[want] }' "$1/summary.csv"
}

# point NAME SETTING...: runs it; $count, $class and $ns are what came of it. 1: it failed.
point() {
	local name=$1
	shift
	timeout 120 "$fs" run probe=visible size=256 "$@" -o "$tmp/$name" >"$tmp/log" 2>&1
	local rc=$?
	count=$(of "$tmp/$name" violations mean)
	class=$(of "$tmp/$name" violations order_class)
	ns=$(of "$tmp/$name" flag_to_payload mean)
	return $rc
}

# promised NAME SETTING...: guaranteed, and none seen
promised() {
	point "$@" messages=20000 || { bad "$1: exit $?"; return; }
	[ "$class" = guaranteed ] || { bad "$1: its class is $class"; return; }
	[ "$count" = 0 ] || { bad "$1: $count violations"; return; }
	echo "ok $1: none seen in 20000, flag to payload $ns ns"
}

# control NAME SETTING...: counted, with an order that would be promised otherwise
control() {
	point "$@" messages=5000 || { bad "$1: exit $?"; return; }
	[ "$class" = unsafe ] || { bad "$1: its class is $class"; return; }
	awk "BEGIN { exit !(${count:-0} > 0) }" || { bad "$1: no violation was counted"; return; }
	echo "ok $1: $count violations in 5000"
}

# shown NAME SETTING...: whatever comes; what is relied on fails with a violation, and says so
shown() {
	if point "$@" messages=20000; then
		echo "-- $1: $class, ${count:-no} violations in 20000"
	elif grep -q 'older words behind their flag' "$tmp/log"; then
		echo "-- $1: $(grep -m1 -o '[0-9]* of [0-9]* messages had older words.*' "$tmp/log")"
	else
		bad "$1"
	fi
}

# places NAME SETTING...: all orders that are promised, at all places, and those that aren't
places() {
	local who=$1 at name f a
	shift
	for at in "dst_mem=gpu flag_mem=gpu" "dst_mem=host flag_mem=gpu" "dst_mem=gpu flag_mem=host" "dst_mem=host flag_mem=host"; do
		name=$who-$(echo "$at" | sed 's/[a-z]*_mem=//g; s/ /-/')
		for f in release-sys store-release-sys sc-sys; do
			# shellcheck disable=SC2086
			promised "$name-$f" $at "fence=$f" "$@"
		done
		# shellcheck disable=SC2086
		promised "$name-load" $at fence=release-sys acquire=load "$@"
		# shellcheck disable=SC2086
		promised "$name-warp" $at fence=release-sys sharing=warp "$@"
		# shellcheck disable=SC2086
		promised "$name-plain" $at fence=release-sys payload_load=plain "$@"
		for f in none release-gpu; do
			# shellcheck disable=SC2086
			shown "$name-$f" $at "fence=$f" "$@"
		done
		# shellcheck disable=SC2086
		shown "$name-acquire-none" $at fence=release-sys acquire=none "$@"
		# shellcheck disable=SC2086
		shown "$name-acquire-none-plain" $at fence=release-sys acquire=none payload_load=plain "$@"
		for a in writer reader; do
			# shellcheck disable=SC2086
			control "$name-early-$a" $at fence=release-sys "early=$a" "$@"
		done
	done
}

places same nic=peer nic_gpu=gpu
promised same-gpu-scope nic=peer nic_gpu=gpu fence=release-gpu acquire=fence-gpu
if "$fs" run probe=visible nic=peer nic_gpu=1 --dry-run >"$tmp/log" 2>&1; then
	places other nic=peer nic_gpu=1
	promised other-peer nic=peer nic_gpu=1 dst_mem=peer flag_mem=gpu fence=release-sys
else
	echo "-- no second GPU: $(tail -n 1 "$tmp/log")"
fi
promised cpu-to-gpu nic=soft fence=store-release-sys
promised cpu-to-gpu-load nic=soft fence=store-release-sys acquire=load
control cpu-to-gpu-early-writer nic=soft fence=store-release-sys early=writer
control cpu-to-gpu-early-reader nic=soft fence=store-release-sys early=reader
for f in release-sys store-release-sys sc-sys; do
	promised "gpu-to-cpu-$f" issuer=cpu nic=peer "fence=$f"
done
control gpu-to-cpu-early-writer issuer=cpu nic=peer fence=release-sys early=writer
control gpu-to-cpu-early-reader issuer=cpu nic=peer fence=release-sys early=reader
shown gpu-to-cpu-none issuer=cpu nic=peer fence=none
ended
