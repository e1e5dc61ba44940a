# SPDX-License-Identifier: Apache-2.0
# Part of scripts/targets: who submits, who notices, and what others do meanwhile.
#
#   submitters/ visible/ pays/    fivestage run configs/NAME.ini
#   T3-rtt/ F6/ F7/ F8/           fivestage run configs/figures/NAME.ini
#   submit-quick/                 fivestage run configs/submit-quick.ini
#
# A run that is not there is a note. Where a line says what something costs and no limit is laid down, it is met by rows
# that are sound.

tuned_ns=150
same_load_percent=2
delay_ns=50000 delay_percent=1
submission_s=360 submission_quick_s=60
nic_limit="the stand-in was the limit"

# there WHAT LIMIT DIR...: are all these runs there? A note if not.
there() {
	local what=$1 limit=$2 dir
	shift 2
	for dir; do
		[ -f "$dir/run.json" ] && continue
		line note "$what" - "$limit" "$dir" "there is no such run"
		return 1
	done
}

# proxy_total DIR: one message by a tuned proxy, held against the GPU's own posting. Above it may stand what the helper's
# hops take: those that have rows, which two stamps on one clock make.
proxy_total() {
	local dir=$1 what="total, tuned proxy over the GPU's own" mine=0 gpu=0 hops=0 hop proxy
	proxy=$(id path submitter=proxy)
	series "$dir" "$(id path ordering=sys-fence-record)" total - latency "$messages"
	gpu=$mean
	if [ -z "$why" ]; then
		series "$dir" "$proxy" total - latency "$messages"
		mine=$mean
	fi
	for hop in "translation taken-resolved" "handoff resolved-built" "handoff built-rung" "crossing rung-seen" \
		"crossing completed-caught" "completion caught-relayed"; do
		[ -z "$why" ] || break
		series "$dir" "$proxy" ${hop% *} "${hop#* }" latency "$messages"
		hops=$(calc "$hops + ${mean:-0}")
	done
	if [ -n "$why" ]; then
		line "NOT MET" "$what" - "<= its hops" "$from" "$why"
	else
		verdict "$mine - $gpu <= $hops" "$what" "$(awk "BEGIN { printf \"%+.0f ns (%.0f of %.0f), hops %.0f\", $mine - $gpu, $mine, $gpu, $hops }")" \
			"<= its hops" "$dir $proxy"
	fi
}

# queues WHAT DIR SETTING...: a message, or with trip=round a round trip, in the queue of a load, over one beside it. The interval is of the messages of one
# process, and says nothing of the next one. Behind a proxy nothing has to be reached.
queues() {
	local what=$1 dir=$2 private shared load=() p limit="loads within $same_load_percent %" said alike whole=latency unmet="NOT MET"
	shift 2
	[[ " $* " != *" trip=round "* ]] || whole=rtt
	[[ " $* " != *" submitter=proxy "* ]] || unmet=note limit="nothing to reach"
	private=$(id contended depth=64 others=8 others_batch=4 others_pace=100000 nic_workers=1 "$@")
	shared=$(id contended depth=64 others=8 others_batch=4 others_pace=100000 nic_workers=1 others_queue=shared "$@")
	for p in "$private" "$shared"; do
		series "$dir" "$p" - - carried 1
		load+=("${mean:-0}")
		[ -n "$why" ] || series "$dir" "$p" total - $whole "$messages"
		[ -z "$why" ] || break
	done
	if [ -n "$why" ]; then
		line "$unmet" "$what" - "$limit" "$from" "$why"
		return
	fi
	rows "$dir"
	said=$(awk -F '\t' -v private="$private" -v shared="$shared" -v whole=$whole '
		($5 != "latency" && $5 != whole) || ($1 != private && $1 != shared) { next }
		$3 == "total" { sum[$1] += $7; n[$1]++; if ($11 == "" || $12 == "") none = 1; half[$1] += ($12 - $11) / 2; next }
		$4 != "-" { part[$4] += $1 == shared ? $7 : -$7 }
		END {
			s = sum[shared] / n[shared]; p = sum[private] / n[private]; r = s / p
			h = r * sqrt((half[shared] / n[shared] / s) ^ 2 + (half[private] / n[private] / p) ^ 2)
			for (i in part) if (part[i] ^ 2 > most ^ 2) { most = part[i]; which = i }
			if (none) printf "%.3f [no interval]", r
			else printf "%.3f [%.3f, %.3f]", r, r - h, r + h
			printf " (%.0f of %.0f ns), most in %s %+.0f", s, p, which, most / n[shared]
		}' "$rows")
	said="$said; $(awk "BEGIN { printf \"%.4g and %.4g M/s\", ${load[1]}, ${load[0]} }")"
	alike="${load[1]} / ${load[0]} <= 1 + $same_load_percent / 100 && ${load[0]} / ${load[1]} <= 1 + $same_load_percent / 100"
	if [ "$unmet" = note ]; then
		holds "$alike" || said="$said: these loads don't compare"
		line note "$what" "$said" "$limit" "$dir $shared and $private"
		return
	fi
	verdict "$alike" "$what" "$said" "$limit" "$dir $shared and $private"
}

# notified DIR: what a CPU that sleeps for completions takes longer, and what it saves
notified() {
	local dir=$1 what="interrupt against poll" woken cores point
	point="ordering=sys-fence-record consumer=cpu"
	series "$dir" "$(id path $point notify=interrupt)" crossing - wakeup 1000
	woken=$mean
	[ -n "$why" ] || { series "$dir" "$(id path $point notify=interrupt)" - - helper_cores "$messages"; cores=$mean; }
	[ -n "$why" ] || series "$dir" "$(id path $point)" - - helper_cores "$messages"
	if [ -n "$why" ]; then
		line "NOT MET" "$what" - "both have rows" "$from" "$why"
	else
		line met "$what" "$(awk "BEGIN { printf \"wake-up %.0f ns, CPUs %.2f instead of %.2f\", $woken, $cores, $mean }")" "both have rows" "$from"
	fi
}

# delayed DIR: a wait of the responder, as it comes back
delayed() {
	local off
	series "$1" "$(id rtt nic=peer nic_gpu=gpu respond_ns=$delay_ns)" - - respond_delta 1
	if [ -n "$why" ]; then
		line "NOT MET" "a delay of 50 us in a round trip" - "within $delay_percent %" "$from" "$why"
		return
	fi
	off=$(calc "100 * ($mean / $delay_ns - 1)")
	verdict "$off <= $delay_percent && $off >= -$delay_percent" "a delay of 50 us in a round trip" \
		"$(awk "BEGIN { printf \"%+.2f %% (%.0f ns)\", $off, $mean }")" "within $delay_percent %" "$from"
}

submission_targets() {
	local d=$1
	if there "submit, tuned proxy" "<= $tuned_ns ns" "$d/submitters"; then
		series "$d/submitters" "$(id path submitter=proxy)" submit - latency "$messages"
		most "submit, tuned proxy" $tuned_ns ns 1
		proxy_total "$d/submitters"
		notified "$d/submitters"
	fi
	if there "one worker, batch 16" ">= $proxy_16 M/s" "$d/F7"; then
		# a rate that the stand-in for a NIC held back is one all the same
		accept=$nic_limit
		series "$d/F7" "$(id rate submitter=proxy proxy_batch=16 blocks=16 depth=256)" total - rate 1
		accept=
		least "one worker, batch 16" $proxy_16 M/s 1
	fi
	if there "shared queue over private" "loads within $same_load_percent %" "$d/F6"; then
		queues "shared queue over private, peer" "$d/F6" nic=peer nic_gpu=gpu
		queues "shared queue over private, soft" "$d/F6" ordering=sys-fence-record
		queues "the same behind a proxy, soft" "$d/F6" submitter=proxy proxy=baseline
		if grep -q ',round,' "$d/F6/plan.csv" 2>/dev/null; then
			queues "the same of a round trip, peer" "$d/F6" nic=peer nic_gpu=gpu trip=round
			queues "the same of a round trip, soft" "$d/F6" ordering=sys-fence-record trip=round
			queues "the same of a round trip behind a proxy" "$d/F6" submitter=proxy proxy=baseline trip=round payload=pointer
		else
			line note "the same of a round trip" - "loads within $same_load_percent %" "$d/F6" "it was run without any"
		fi
	fi
	there "a delay of 50 us in a round trip" "within $delay_percent %" "$d/T3-rtt" && delayed "$d/T3-rtt"
	there "the set" "<= $submission_s s" "$d"/{submitters,T3-rtt,visible,F6,F7,F8,pays} &&
		took "the set" $submission_s "$d"/{submitters,T3-rtt,visible,F6,F7,F8,pays}
	there "the quick form" "<= $submission_quick_s s" "$d/submit-quick" &&
		took "the quick form" $submission_quick_s "$d/submit-quick"
	return 0
}
