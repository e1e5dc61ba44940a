# SPDX-License-Identifier: Apache-2.0
# Part of scripts/targets: the crossing and the translation for themselves (stages 2 and 3).
#
#   crossing/ crossing-2/ contention/ contention-2/ translation/ translation-2/
#                             fivestage run configs/NAME.ini, twice
#   contention-5/             the same with --repeat 5: five processes, if it is there
#   crossing-quick/ translation-quick/
#   crossover/ staging-5/     fivestage run configs/crossover.ini --repeat 5, and staging.ini: translation/ and staging/ are
#                             of one process, which says nothing of the next one
#   nvbandwidth.txt           nvbandwidth (github.com/NVIDIA/nvbandwidth) on the same machine, minutes apart; of several
#                             runs, one after another in it, the range counts

nvb_percent=5
load_percent=5
twice_percent=2
tlb_bytes=$((64 << 30))
register_bytes=$((4 << 30))
crossing_s=240 crossing_quick_s=60

# beside WHAT NVB_TEST PROBE METRIC SETTING...: a mean of ours against a sum of nvbandwidth's, which is of $nvb_pairs pairs;
# of several of its runs against the nearest figure within their range.
nvb_pairs=1
beside() {
	local what=$1 test=$2 probe=$3 metric=$4 theirs least most off
	shift 4
	series "$d/crossing" "$(id "$probe" "$@")" crossing - "$metric" 1
	read -r least most < <(awk -v t="$test" -v pairs="$nvb_pairs" '$1 == "SUM" && $2 == t { x = $3 / pairs; if (!n++ || x < lo) lo = x; if (x > hi) hi = x }
		END { if (n) print lo, hi }' "$d/nvbandwidth.txt" 2>/dev/null)
	if [ -n "$why" ] || [ -z "$least" ]; then
		line "NOT MET" "$what" - "within $nvb_percent %" "$from" "${why:-no such line in $d/nvbandwidth.txt}"
		return
	fi
	theirs=$(calc "($mean < $least ? $least : $mean > $most ? $most : $mean)")
	off=$(calc "100 * ($mean / $theirs - 1)")
	verdict "$off <= $nvb_percent && $off >= -$nvb_percent" "$what" \
		"$(awk "BEGIN { printf \"%+.1f %% (%.4g, nvbandwidth %.4g\", $off, $mean, $least; if ($most > $least) printf \" to %.4g\", $most; printf \")\" }")" "within $nvb_percent %" "$from"
}

# same_run A B: why B is no second run, if it isn't one: a copy agrees with itself.
same_run() {
	local start
	start=$(fact "$1" start_ns)
	if [ -z "$start" ]; then
		echo "run.json has no start_ns"
	elif [ "$start" = "$(fact "$2" start_ns)" ]; then
		echo "the same run twice"
	fi
}

# under WHAT SETTING...: a victim under a saturating load: two processes' totals, and the
# interval that grows most over the same without load.
under() {
	local what=$1 a b off grown load=$2
	shift 2
	series "$d/contention" "$(id path "$@" "load=$load")" total - latency "$messages"
	a=$mean
	[ -n "$why" ] || series "$d/contention-2" "$(id path "$@" "load=$load")" total - latency "$messages"
	b=$mean
	why=${why:-$(same_run "$d/contention" "$d/contention-2")}
	if [ -n "$why" ]; then
		line "NOT MET" "$what, load=$load" - "two runs within $load_percent %" "$from" "$why"
		return
	fi
	rows "$d/contention"
	grown=$(awk -F '\t' -v quiet="$(id path "$@")" -v loud="$(id path "$@" "load=$load")" '
		$5 == "latency" && ($4 != "-" || $3 == "crossing") && $1 == quiet { q[$3 " " $4] = $7 }
		$5 == "latency" && ($4 != "-" || $3 == "crossing") && $1 == loud { l[$3 " " $4] = $7 }
		END { for (k in l) if (k in q && l[k] - q[k] > most) { most = l[k] - q[k]; which = k }
			sub(/ -$/, "", which); printf "%s %+.0f ns", which ? which : "nothing grows", most }' "$rows")
	off=$(calc "100 * ($b / $a - 1)")
	verdict "$off <= $load_percent && $off >= -$load_percent" "$what, load=$load" \
		"$(awk "BEGIN { printf \"%.0f and %.0f ns, %+.1f %%\", $a, $b, $off }"); $grown" "two runs within $load_percent %" "$d/contention"
}

# processes WHAT SETTING...: the same in several processes, where there is such a run: any two of them.
processes() {
	local what=$1 load=$2
	shift 2
	[ -d "$d/contention-5" ] || return
	series "$d/contention-5" "$(id path "$@" "load=$load")" total - latency "$messages"
	if [ -n "$why" ]; then
		line "NOT MET" "$what, load=$load, several processes" - "each two within $load_percent %" "$from" "$why"
		return
	fi
	verdict "$reps >= 3 && $hi / $lo - 1 <= $load_percent / 100" "$what, load=$load, several processes" \
		"$(awk "BEGIN { printf \"%.0f to %.0f ns in %d, %.1f %%\", $lo, $hi, $reps, 100 * ($hi / $lo - 1) }")" "each two within $load_percent %" "$d/contention-5"
}

# twice NAME: medians of the rows of two runs, by what takes part: GPUs and their memory alone; host memory, or a CPU as NIC,
# besides; CPUs alone; anything beside a load; registrations, which a CPU does in the kernel and the driver. How well a
# figure can be repeated is another matter for each. A row that is ok in one run alone can't be repeated either: it would
# make a worse run look better if it only dropped out. What neither run has an ok row of (skipped; an order that fails by
# intention) counts for nothing, and a point that stands in two experiments counts once.
twice() {
	local a=$d/$1 b=$d/$1-2 reason class good bad first second text what f
	reason=$(unusable "$a")
	reason=${reason:-$(unusable "$b")}
	reason=${reason:-$(same_run "$a" "$b")}
	for f in "$a"/{plan,summary}.csv "$b"/{plan,summary}.csv; do
		[ -f "$f" ] || reason=${reason:-there is no $f}
	done
	if [ -n "$reason" ]; then
		line "NOT MET" "medians of two runs, $1" - "within $twice_percent %" "$a" "$reason"
		return
	fi
	awk -F, -v limit=$twice_percent '
		FNR == 1 { file++; for (i = 1; i <= NF; i++) col[file, $i] = i; next }
		file <= 2 {
			host = 0
			for (i = 1; i <= NF; i++) if ($i == "host") host = 1
			soft = $col[file, "nic"] == "soft" && $col[file, "probe"] ~ /^(path|pingpong|store|rate|rtt)$/
			cpu = $col[file, "issuer"] == "cpu" || $col[file, "mover"] == "cpu"
			busy = $col[file, "load"] != "" && $col[file, "load"] != "none"
			class[$col[file, "point"]] = $col[file, "probe"] == "register" ? "register" : busy ? "load" : cpu ? "cpu" : host || soft ? "host" : "gpu"
			next
		}
		$col[file, "status"] == "ok" && $col[file, "p50"] != "" && $col[file, "n"] > 1 {
			k = $col[file, "point"] " " $col[file, "rep"] " " $col[file, "stage"] " " $col[file, "interval"] " " $col[file, "metric"]
			if (!(k in name)) name[k] = $col[file, "experiment"] " " $col[file, "value"]
			point[k] = $col[file, "point"]
			median[file, k] = $col[file, "p50"]
		}
		END {
			for (k in name) {
				c = class[point[k]] ? class[point[k]] : "unplanned"
				have[c] = 1
				if (!((3, k) in median) || !((4, k) in median)) {
					if ((3, k) in median) first[c]++; else second[c]++
					if (!(c in alone) || name[k] < alone[c]) alone[c] = name[k]
					continue
				}
				x = median[3, k]
				off = x ? 100 * (median[4, k] / x - 1) : 0
				if (off < 0) off = -off
				if (off > limit) bad[c]++
				if (!n[c]++ || off > worst[c]) { worst[c] = off; at[c] = name[k] }
			}
			for (c in have) {
				printf "%s %d %d %d %d %d of %d", c, n[c], bad[c], first[c], second[c], n[c] - bad[c], n[c]
				if (n[c]) printf ", at most %.1f %% (%s)", worst[c], at[c]
				if (first[c]) printf "; %d in the first run alone", first[c]
				if (second[c]) printf "; %d in the second run alone", second[c]
				if (c in alone) printf " (%s)", alone[c]
				print ""
			}
		}' "$a/plan.csv" "$b/plan.csv" "$a/summary.csv" "$b/summary.csv" >"$tmp/twice" 2>/dev/null
	[ -s "$tmp/twice" ] || line "NOT MET" "medians of two runs, $1" - "within $twice_percent %" "$a" "no row is in both"
	for what in "gpu:GPUs alone" "host:host memory or a CPU NIC" "cpu:CPUs alone" "load:beside a load" "register:registrations" "unplanned:in no plan"; do
		read -r class good bad first second text < <(grep "^${what%%:*} " "$tmp/twice") || continue
		verdict "$good > 0 && $bad == 0 && $first + $second == 0" "medians of two runs, $1, ${what#*:}" "$text" "within $twice_percent %" "$a"
	done
}

# crossovers WHAT DIR [OPTION...]: what scripts/crossover.py says of each pair of arms, shortly. Met if each has a
# crossover, or none in the range. Several processes are wanted: one's interval says nothing of the next one.
crossovers() {
	local what=$1 from=$2 reason said short count
	shift 2
	reason=$(unusable "$from")
	count=$(fact "$from" repeat)
	[ -n "$reason" ] || [ "${count:-0}" -ge 3 ] || reason="repeat is ${count:-not said}, at least 3 processes are wanted"
	if [ -z "$reason" ]; then
		said=$("${PYTHON:-python3}" "$here/crossover.py" "$from" "$@" 2>&1) || reason=${said:-scripts/crossover.py says nothing}
		[ -n "$said" ] || reason=${reason:-scripts/crossover.py says nothing}
	fi
	if [ -n "$reason" ]; then
		line "NOT MET" "$what" - "found or excluded" "$from" "$(paste -sd ' ' <<<"$reason")"
		return
	fi
	# MECHANISM OTHER...: ANSWER
	short=$(sed -E 's/^mechanism=//; s/host_page=([^ :]*) page=\1/page=\1/; s/^([^:]*): /\1\t/
		s/\tcrossover (between .*), by straight lines.*/\t\1/; s/\tno crossover: (excluded in the range [^,]*).*/\t\1/
		s/\t(undecided|more than one crossover)\>.*/\t\1/; s/\tno (size|value) has a figure.*/\tno figure/
		s/ [a-z_]*=/ /g; s/\t/ /' <<<"$said" | paste -sd ';' | sed 's/;/; /g')
	verdict "$(grep -c ': crossover between \|: no crossover: excluded' <<<"$said") == $(wc -l <<<"$said")" "$what" "$short" "found or excluded" "$from"
}

crossing_targets() {
	local d=$1 reach l
	beside "a load of host memory" host_device_latency_sm load latency mem=host
	beside "to the GPU, copy engine" host_to_device_memcpy_ce bandwidth bandwidth mover=ce src_mem=host dst_mem=gpu size=268435456
	beside "to the host, copy engine" device_to_host_memcpy_ce bandwidth bandwidth mover=ce src_mem=gpu dst_mem=host size=268435456
	beside "both ways, copy engine, there" host_to_device_bidirectional_memcpy_ce bandwidth bandwidth_there mover=ce src_mem=host dst_mem=gpu size=268435456 ways=both
	beside "both ways, copy engine, back" device_to_host_bidirectional_memcpy_ce bandwidth bandwidth_back mover=ce src_mem=host dst_mem=gpu size=268435456 ways=both
	beside "to the GPU, by SMs" host_to_device_memcpy_sm bandwidth bandwidth src_mem=host dst_mem=gpu size=268435456
	beside "to the host, by SMs" device_to_host_memcpy_sm bandwidth bandwidth src_mem=gpu dst_mem=host size=268435456
	beside "both ways, by SMs, there" host_to_device_bidirectional_memcpy_sm bandwidth bandwidth_there src_mem=host dst_mem=gpu size=268435456 ways=both
	beside "both ways, by SMs, back" device_to_host_bidirectional_memcpy_sm bandwidth bandwidth_back src_mem=host dst_mem=gpu size=268435456 ways=both
	beside "within the GPU, copy engine" device_local_copy bandwidth bandwidth mover=ce size=268435456

	# of the path in targets/, by the stores of crossing/: until the other side has seen it, and back
	if there "stage 2 by stores" "within 10 %" "$d/targets"; then
		dir=$d/targets bare_dir=$d/crossing
		agrees "stage 2 by stores, inside the GPU" "$(id path nic=peer nic_gpu=gpu lines=8)" "$(id store nic=peer nic_gpu=gpu mem=gpu)"
		agrees "stage 2 by stores, doorbell on the host" "$(id path nic=peer nic_gpu=gpu lines=8 db_mem=host)" "$(id store nic=peer nic_gpu=gpu mem=host)"
		agrees "stage 2 by stores, to a CPU" "$(id path nic_gpu=gpu messages=200000 ordering=sys-fence-record)" "$(id store)"
		bare_dir=
	fi

	for l in h2d d2h both; do
		under "over PCIe" $l ordering=sys-fence-record
		processes "over PCIe" $l ordering=sys-fence-record
		under "inside the GPU" $l nic=peer nic_gpu=gpu
		processes "inside the GPU" $l nic=peer nic_gpu=gpu
	done

	reach=$(awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
		$col["probe"] == "tlb" && $col["issuer"] == "gpu" && $col["status"] == "ok" && $col["metric"] == "latency" && $col["experiment"] ~ /tlb-gpu$/ {
			split($col["interval"], a, "-"); if (a[3] + 0 > most) most = a[3] } END { print most + 0 }' "$d/translation/summary.csv" 2>/dev/null)
	[ -z "$(unusable "$d/translation")" ] || reach=0
	verdict "${reach:-0} * 2097152 >= $tlb_bytes" "a ladder over a GPU's own memory" "$(awk "BEGIN { printf \"%.0f GiB in pages of 2 MiB\", ${reach:-0} / 512 }")" ">= 64 GiB" "$d/translation"
	for l in cuda-malloc cu-mem host-alloc host-register dma-buf; do
		series "$d/translation" "$(id register mechanism=$l bytes=$register_bytes $([ $l != host-register ] || echo host_page=4k))" translation - register 1
		most "register 4 GiB, $l" 60 s 1e9
	done
	crossovers "registering against copying" "$d/crossover"
	crossovers "the same, by a proxy for a GPU" "$d/staging-5" --metric total_with_registration
	twice crossing
	twice contention
	twice translation
	took "the set" $crossing_s "$d"/{crossing,contention,translation,staging}
	took "the quick form" $crossing_quick_s "$d"/{crossing-quick,translation-quick}
}
