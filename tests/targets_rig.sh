# SPDX-License-Identifier: Apache-2.0
# Made-up result directories for tests of scripts/targets. Needs $src, $fivestage, $tmp.

header=schema,point,rep,seq,t_start_ns,experiment,probe,varied,value,nic,issuer,submitter,size_b,stage,interval,link,metric,unit,n,mean,ci_lo,ci_hi,min,p50,p90,p99,p999,max,mad,origin,order_class,status,reason_code,reason
# experiment -> id, of a config
declare -A id
ids() {
	local point='' a b rest
	sed 's/^\[global\]$/[global]\nabsent = skip/' "$src/configs/$1" >"$tmp/config.ini"
	while read -r a b rest; do
		if [ "$a" = in ]; then id[$b]=$point; else point=$a; fi
	done < <("$fivestage" run "$tmp/config.ini" --dry-run)
}

# name N -> id, of the N-th point of an experiment of a config
nth() {
	local point='' a b rest n
	declare -A n=()
	cp "$src/configs/$1" "$tmp/config.ini"
	grep -q '^absent = skip' "$tmp/config.ini" || sed -i 's/^\[global\]$/[global]\nabsent = skip/' "$tmp/config.ini"
	while read -r a b rest; do
		if [ "$a" = in ]; then n[$b]=$((${n[$b]-0} + 1)); id["$b-${n[$b]}"]=$point; else point=$a; fi
	done < <("$fivestage" run "$tmp/config.ini" --dry-run)
}
# one PROBE SETTING...: the id of a point that stands in no config
one() {
	printf '[global]\nabsent = skip\n[x]\nprobe = %s\n' "$1" >"$tmp/one.ini"
	printf '%s\n' "${@:2}" >>"$tmp/one.ini"
	"$fivestage" run "$tmp/one.ini" --dry-run | awk '$1 != "in" { p = $1 } $1 == "in" { print p; exit }'
}

# run DIR REPEAT [UUID]: a run.json, and a summary.csv without rows
run() {
	mkdir -p "$1"
	cat >"$1/run.json" <<-END
	{
	  "schema": 1,
	  "revision": "0123456789ab",
	  "repeat": $2,
	  "start": "2026-01-01T00:00:00Z",
	  "start_ns": 1000000000,
	  "end": "2026-01-01T00:00:20Z",
	  "complete": true,
	  "exit_code": 0,
	  "machine": {
	    "gpus": [
	      {
	        "uuid": "${3-}"
	      }
	    ]
	  },
	  "points": {
	    "${id[cpu-rate-checked]}": {
	      "1": {
	        "check": "each"
	      }
	    }
	  },
	  "end_ns": 21000000000,
	  "how_far": "9 of 9: 9 ok, 0 flagged, 0 failed, 0 skipped",
	  "peak_memory": {
	    "parent_kb": 1000,
	    "children_kb": 9000,
	    "sum_kb": 10000
	  }
	}
	END
	echo "$header" >"$1/summary.csv"
	# what the script must be able to read over
	printf '1,0,1,,,a,path,,,,,,,-,-,none,,,,,,,,,,,,,,-,-,ok,,"a, ""quoted""\n1,two lines,"\n' >>"$1/summary.csv"
}

# row DIR EXPERIMENT STAGE INTERVAL METRIC N MEAN: five repetitions, and the same
# rows for a second experiment
row() {
	local e r
	for e in "$2" again; do
		for r in 1 2 3 4 5; do
			echo "1,${id[$2]},$r,1,0,$e,path,,,soft,gpu,gpu,8,$3,$4,none,$5,ns,$6,$7,,,,,,,,,,measured,guaranteed,ok,,"
		done
	done >>"$1/summary.csv"
}
