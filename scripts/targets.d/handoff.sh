# SPDX-License-Identifier: Apache-2.0
# Part of scripts/targets: issue, handoff, rates, completion scope (stages 1 and 4).
#
#   T3/ T4/ T5/ F3/ F4/ launch/   fivestage run configs/figures/NAME.ini
#   handoff-quick/                fivestage run configs/handoff-quick.ini
#   long/                         fivestage run probe=rate nic=peer nic_gpu=gpu threads=16 batch=16 depth=1024 messages=100000000
#   gpu_rates.txt                 tests/gpu_rates.sh FIVESTAGE --all

null_rate=([1]=2.4 [16]=15 [64]=22) warp_null=40 warps_null=2000 peer_rate=30 # M/s
shared_ns=700
own_percent=5
quiet_lines=lines=16  # a setting of F4's points
handoff_s=360 handoff_quick_s=40
no_back_pressure="nobody takes the messages"
stand_in_limit="the stand-in was the limit"

# step DIR WHAT NONE_ID ID PART...: what an ordering adds to submit, and the sum of its
# fences, each FENCE/STORES, in the same run. What is left may be 10 % or 48 ns.
step() {
	local dir=$1 what=$2 from_id=$3 to_id=$4 part f n none='' sum=0 step
	shift 4
	series "$dir" "$from_id" submit - latency "$messages"
	[ -n "$why" ] || { none=$mean; series "$dir" "$to_id" submit - latency "$messages"; }
	[ -n "$why" ] || step=$(calc "$mean - $none")
	for part; do
		[ -z "$why" ] || break
		f=${part%/*} n=${part#*/}
		# four stores are the default, which stands in no id
		series "$dir" "$(id fence "fence=$f" $([ "$n" = 4 ] || echo "outstanding=$n"))" handoff - fence "$messages"
		[ -n "$why" ] || { sum=$(calc "$sum + $mean"); series "$dir" "$(id fence $([ "$n" = 4 ] || echo "outstanding=$n"))" handoff - fence "$messages"; }
		[ -n "$why" ] || sum=$(calc "$sum - $mean")
	done
	if [ -n "$why" ]; then
		line "NOT MET" "$what" - "explained" "$from" "$why"
		return
	fi
	verdict "($step - $sum <= ($step > 480 ? $step / 10 : 48)) && ($sum - $step <= ($step > 480 ? $step / 10 : 48))" "$what" \
		"$(awk "BEGIN { printf \"%+.0f ns = fences %+.0f, rest %+.0f\", $step, $sum, $step - $sum }")" "rest <= 10 %" "$dir"
}

# rate_of WHAT LIMIT DIR SETTING...: the rate of all agents
rate_of() {
	local what=$1 limit=$2 dir=$3
	shift 3
	accept=$no_back_pressure
	series "$dir" "$(id rate depth=1024 "$@")" total - rate 1
	accept=
	least "$what" "$limit" M/s 1
}

# segments WHAT ACCEPT DIR SETTING...: the rate of 16 queues by what a message takes of its WQE. Each size fills its last
# segment of 16 bytes; from the third on there is a second block. No limit is laid down: rows that are sound are met. A run
# of before there were such points is a note.
segments() {
	local what=$1 dir=$3 said='' bad='' size point none=1
	accept=$2
	shift 3
	for size in 12 28 44 60 76 92; do
		point=$(id rate depth=512 batch=16 blocks=16 "size=$size" "$@")
		has_point "$dir" "$point" && none=0
		series "$dir" "$point" total - rate 1
		bad=${bad:-$why}
		said="$said $(awk "BEGIN { printf \"%.4g\", ${mean:-0} }")"
	done
	accept=
	if [ $none -eq 1 ]; then
		line note "$what" - "has rows" "$dir" "no such points"
	elif [ -n "$bad" ]; then
		line "NOT MET" "$what" - "has rows" "$dir" "$bad"
	else
		line met "$what" "$said M/s" "has rows" "$dir"
	fi
}

# took WHAT LIMIT_S DIR...: from the runs' own starts and ends
took() {
	local what=$1 limit=$2 d reason='' sum=0
	shift 2
	for d; do
		reason=${reason:-$(unusable "$d")}
		# a point that shows a failure fails its run: 1 is no reason
		case $(fact "$d" exit_code) in 0 | 1) ;; *) reason=${reason:-exit code $(fact "$d" exit_code)} ;; esac
		# how long it rested in between is no time of the run
		grep -q '^  "resumptions": \[$' "$d/run.json" 2>/dev/null && reason=${reason:-the run was resumed}
		[ -n "$(fact "$d" start_ns)" ] && [ -n "$(fact "$d" end_ns)" ] || reason=${reason:-no start or end in run.json}
		[ -z "$reason" ] && sum=$(calc "$sum + ($(fact "$d" end_ns) - $(fact "$d" start_ns)) / 1e9")
	done
	if [ -n "$reason" ]; then
		line "NOT MET" "$what" - "<= $limit s" "$1" "$reason"
	else
		verdict "$sum <= $limit" "$what" "$(awk "BEGIN { printf \"%.0f s\", $sum }")" "<= $limit s" "$*"
	fi
}

# file WHAT FILE WORDS: a file of a test that was run there ends well
file() {
	local n
	if [ ! -f "$2" ]; then
		line "NOT MET" "$1" - "$3" "$2" "there is no such file"
	elif ! grep -q -- "$3" "$2" || grep -q '^FAILED' "$2"; then
		line "NOT MET" "$1" - "$3" "$2" "$(grep -m 1 '^FAILED' "$2" || echo "it doesn't say so")"
	else
		n=$(grep -o '[0-9]* points: [0-9]* ok' "$2" | tail -n 1)
		line met "$1" "${n:-ok}" "$3" "$2"
	fi
}

# quiet SCOPE N: the mean total, in $mean
quiet() {
	local settings=(nic=peer nic_gpu=gpu "queues=$2" $quiet_lines)
	[ "$1" = own ] || settings+=(scope=all)
	series "$dir" "$(id quiet "${settings[@]}")" total - latency 1000
}

handoff_targets() {
	local d=$1 dir none o n t own='' all='' bad='' lock warp
	dir=$d/T4
	none=$(id path nic=peer nic_gpu=gpu payload=inline ordering=none)
	t() { step "$dir" "T4, $1" "$none" "$(id path nic=peer nic_gpu=gpu payload=inline $([ "$1" = gpu-fence ] || echo "ordering=$1"))" "${@:2}"; }
	t gpu-fence release-gpu/4
	t gpu-fence-record release-gpu/3 release-gpu/1
	t gpu-release store-release-gpu/3 store-release-gpu/1
	t threadfence sc-gpu/3 sc-gpu/1
	t sys-fence release-sys/4
	t sys-fence-record release-sys/3 release-sys/1
	t sys-release store-release-sys/3 store-release-sys/1

	dir=$d/T5
	for n in 1 16 64; do
		rate_of "one thread into null, batch $n" ${null_rate[n]} "$dir" nic=null $([ $n = 1 ] || echo batch=$n)
	done
	rate_of "one warp, one queue, into null" $warp_null "$dir" nic=null sharing=warp threads=32 batch=32
	rate_of "64 warps, 64 queues, into null" $warps_null "$dir" nic=null sharing=warp threads=32 batch=32 blocks=64
	rate_of "16 queues through peer" $peer_rate "$dir" nic=peer nic_gpu=gpu batch=16 blocks=16
	accept=$no_back_pressure
	series "$dir" "$(id rate depth=1024 nic=null threads=256 queues=1 batch=32 sharing=lock)" total - rate 1
	lock=$mean bad=$why
	series "$dir" "$(id rate depth=1024 nic=null threads=256 queues=1 batch=32 sharing=warp)" total - rate 1
	warp=$mean bad=${bad:-$why}
	if [ -n "$bad" ]; then
		line "NOT MET" "256 threads, a lock a batch, into null" - "the worst" "$from" "$bad"
	else
		verdict "$lock < $warp" "256 threads, a lock a batch, into null" "$(awk "BEGIN { printf \"%.3g M/s, by warps %.3g\", $lock, $warp }")" "the worst" "$from"
	fi
	series "$dir" "$(id rate depth=1024 nic=null sharing=gpu)" submit - latency "$messages"
	accept=
	most "submit, queue shared at GPU scope" $shared_ns ns 1

	segments "16 queues, inline, 12 to 92 B by 16" "$stand_in_limit" "$d/F3" nic=peer nic_gpu=gpu payload=inline
	segments "16 queues, pointer, 12 to 92 B by 16" "$stand_in_limit" "$d/F3" nic=peer nic_gpu=gpu payload=pointer
	segments "16 queues, inline, 12 to 92 B, into null" "$no_back_pressure" "$d/F3" nic=null payload=inline

	dir=$d/F4
	bad=
	for n in 1 2 4 8 16; do
		quiet own $n
		bad=${bad:-$why}
		own="$own $mean"
	done
	if [ -n "$bad" ]; then
		line "NOT MET" "own queue, 1 to 16 queues" - "within $own_percent %" "$from" "$bad"
	else
		t=$(awk '{ lo = hi = $1; for (i = 2; i <= NF; i++) { if ($i < lo) lo = $i; if ($i > hi) hi = $i } print 100 * (hi / lo - 1), lo, hi }' <<<"$own")
		verdict "${t%% *} <= $own_percent" "own queue, 1 to 16 queues" "$(awk '{ printf "%.1f %% (%.0f to %.0f ns)", $1, $2, $3 }' <<<"$t")" "within $own_percent %" "$from"
	fi
	bad=
	for n in 1 2 4 8 16; do
		quiet all $n
		bad=${bad:-$why}
		all="$all $mean"
	done
	if [ -n "$bad" ]; then
		line "NOT MET" "all queues, 1 to 16" - "grows" "$from" "$bad"
	else
		verdict "$(awk '{ up = $5 > 1.1 * $1; for (i = 2; i <= NF; i++) if ($i < 0.98 * $(i - 1)) up = 0; print up }' <<<"$all")" \
			"all queues, 1 to 16" "$(awk '{ printf "%.0f to %.0f ns", $1, $5 }' <<<"$all")" "grows" "$from"
	fi

	series "$d/long" "$(id rate depth=1024 nic=peer nic_gpu=gpu batch=16 threads=16 messages=100000000)" total - rate 1
	least "100,000,000 messages through peer" 1 M/s 1
	file "random points of the rate" "$d/gpu_rates.txt" "all ok"
	took "the set" $handoff_s "$d"/{T3,T4,T5,F3,F4,launch}
	took "the quick form" $handoff_quick_s "$d/handoff-quick"
}
