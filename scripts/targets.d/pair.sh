# SPDX-License-Identifier: Apache-2.0
# Part of scripts/targets: two GPUs of one host, over NVLink.
#
#   targets/          fivestage run configs/targets-pair.ini --repeat 5
#   validate-nvlink/  fivestage validate nic=peer nic_gpu=1 messages=30000
#   pair/             fivestage run configs/pair.ini
#   crossing/         fivestage run configs/crossing.ini
#   long/             fivestage run probe=rate nic=peer nic_gpu=1 ordering=sys-fence-record depth=1024 batch=16 threads=16 messages=100000000
#   nvbandwidth.txt   nvbandwidth on the same machine, minutes apart

declare -A nvlink_us=([gpu-fence]=3.6 [sys-fence-record]=4.5)

pair_targets() {
	local d=$1 o base pp peer="nic=peer nic_gpu=1 lines=8" a b
	dir=$d/targets
	for o in gpu-fence sys-fence-record; do
		series "$dir" "$(point path "$peer" "$o")" total - latency "$messages"
		most "total over NVLink, $o" "${nvlink_us[$o]}" us 1000
		series "$dir" "$(point path "$peer doorbell=blueflame" "$o")" total - latency "$messages"
		most "total over NVLink by BlueFlame, $o" "${nvlink_us[$o]}" us 1000
	done
	# Objects are moved with an order that is promised to a NIC on another GPU: with gpu-fence it did fetch a WQE
	# too early where the queue wasn't the issuer's own. What a system fence costs goes by where the queue lies.
	o=sys-fence-record
	base=$(point path "$peer" $o)
	pp=$(point pingpong "$peer" -)
	moved "doorbell to the host" "$base" "$(point path "$peer db_mem=host" $o)" "$pp" "$(point pingpong "$peer db_mem=host" -)" handoff built-rung
	moved "doorbell to the issuer" "$base" "$(point path "$peer db_mem=gpu" $o)" "$pp" "$(point pingpong "$peer db_mem=gpu" -)" handoff built-rung
	moved "queue to the host" "$base" "$(point path "$peer queue_mem=host" $o)" "$pp" "$pp" handoff built-rung handoff started-fetched
	moved "queue to the peer" "$base" "$(point path "$peer queue_mem=peer" $o)" "$pp" "$pp" handoff built-rung handoff started-fetched
	moved "CQ to the host" "$base" "$(point path "$peer cq_mem=host" $o)" "$pp" "$(point pingpong "$peer cq_mem=host" -)" completion written-completed
	moved "CQ to the peer" "$base" "$(point path "$peer cq_mem=peer" $o)" "$pp" "$(point pingpong "$peer cq_mem=peer" -)" completion written-completed
	plants "validate over NVLink" "$d/validate-nvlink" "$gpu_plants" "$gpu_plants"
	for o in gpu-fence sys-fence-record; do
		agrees "stage 2 over NVLink, $o" "$(point path "$peer" $o)" "$pp"
	done
	for a in "db_mem=host doorbell on the host" "db_mem=gpu doorbell at the issuer" "cq_mem=host CQ on the host" "cq_mem=peer CQ at the peer"; do
		b=${a%% *}
		agrees "stage 2, ${a#* }" "$(point path "$peer $b" sys-fence-record)" "$(point pingpong "$peer $b" -)"
	done
	for o in gpu-fence sys-fence-record; do
		deviation "between runs over NVLink, $o" "$(point path "$peer" "$o")"
	done
	there "crossings by themselves" "within 10 and $nvb_percent %" "$d/crossing" "$d/long" && pair_crossing "$d" "$base"
	rate_of "16 queues through a NIC on GPU 1" $peer_rate "$d/pair" nic=peer nic_gpu=1 batch=16 blocks=16 ordering=sys-fence-record
}

# What the path's stage 2 and nvbandwidth say of the bare crossings. pair_crossing DIR BASE_ID
pair_crossing() {
	local d=$1 base=$2 o=sys-fence-record peer="nic=peer nic_gpu=1 lines=8"
	bare_dir=$d/crossing
	agrees "stage 2 by stores over NVLink" "$base" "$(id store nic=peer nic_gpu=1 mem=peer)"
	agrees "stage 2 by stores, doorbell on the host" "$(point path "$peer db_mem=host" $o)" "$(id store nic=peer nic_gpu=1 mem=host)"
	agrees "stage 2 by stores, doorbell at the issuer" "$(point path "$peer db_mem=gpu" $o)" "$(id store nic=peer nic_gpu=1 mem=gpu)"
	bare_dir=
	nvb_pairs=2
	beside "a load of the other GPU's memory" device_to_device_latency_sm load latency mem=peer
	beside "to the other GPU, copy engine" device_to_device_memcpy_write_ce bandwidth bandwidth mover=ce src_mem=gpu dst_mem=peer size=268435456
	beside "both ways, copy engines" device_to_device_bidirectional_memcpy_write_ce_total bandwidth bandwidth mover=ce src_mem=gpu dst_mem=peer size=268435456 ways=both
	beside "to the other GPU, by SMs" device_to_device_memcpy_write_sm bandwidth bandwidth src_mem=gpu dst_mem=peer size=268435456
	beside "both ways, by SMs of either GPU" device_to_device_bidirectional_memcpy_write_sm_total bandwidth bandwidth src_mem=gpu dst_mem=peer size=268435456 ways=both
	beside "to all peers at once, copy engines" one_to_all_write_ce bandwidth bandwidth mover=ce size=268435456 ways=to-all
	beside "from all peers at once, copy engines" all_to_one_write_ce bandwidth bandwidth mover=ce size=268435456 ways=from-all
	beside "to all peers at once, by SMs" one_to_all_write_sm bandwidth bandwidth size=268435456 ways=to-all
	beside "from all peers at once, by SMs" all_to_one_write_sm bandwidth bandwidth size=268435456 ways=from-all
	nvb_pairs=1
	local no_back_pressure="the stand-in was the limit" # which is a rate all the same: what is asked for is that nothing goes wrong
	rate_of "10^8 messages to a NIC on GPU 1" 0 "$d/long" nic=peer nic_gpu=1 ordering=sys-fence-record batch=16 threads=16 messages=100000000
}
