# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tests with a GPU share. Needs $1, the program; gives $fs, $tmp, which goes at the end, and $failed. Ends the
# test with 77 where there is no GPU.

set -u
fs=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
patience=300   # seconds of a run
settings=()    # of every run

"$fs" run issuer=gpu nic=null messages=128 -o "$tmp/probe" >"$tmp/log" 2>&1
if grep -q 'needs a GPU' "$tmp/log"; then
	echo "skipped: $(grep -m1 'needs a GPU' "$tmp/log")"
	exit 77
fi

bad() {
	echo "FAILED $*"
	tail -n 20 "$tmp/log"
	failed=$((failed + 1))
}

# expect NAME EXIT REGEX SETTING...: the run ends with EXIT and says REGEX
expect() {
	local name=$1 want=$2 regex=$3 got
	shift 3
	timeout "$patience" "$fs" run ${settings[@]+"${settings[@]}"} "$@" -o "$tmp/$name" >"$tmp/log" 2>&1
	got=$?
	if [ $got -ne "$want" ] || ! grep -qE "$regex" "$tmp/log"; then
		bad "$name: exit $got, expected $want and /$regex/"
		return 1
	fi
	echo "ok $name"
}

# found DIR NAME: the values that run.json has for it, one a line
found() { sed -n "s/^ *\"$2\": \"\([^\"]*\)\",\{0,1\}\$/\1/p" "$1/run.json"; }

# ended: 0 if nothing has failed; a test's last line
ended() {
	echo "$failed failed"
	[ $failed -eq 0 ]
}
