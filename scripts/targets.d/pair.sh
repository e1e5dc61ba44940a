# SPDX-License-Identifier: Apache-2.0
# Part of scripts/targets: two GPUs of one host, over NVLink.
#
#   targets/          fivestage run configs/targets-pair.ini --repeat 5
#   validate-nvlink/  fivestage validate nic=peer nic_gpu=1 messages=30000
#   pair/             fivestage run configs/pair.ini

declare -A nvlink_us=([gpu-fence]=3.6 [sys-fence-record]=4.5)

pair_targets() {
	local d=$1 o base pp peer="nic=peer nic_gpu=1 lines=8" a b
	dir=$d/targets
	for o in gpu-fence sys-fence-record; do
		series "$dir" "$(point path "$peer" "$o")" total - latency "$messages"
		most "total over NVLink, $o" "${nvlink_us[$o]}" us 1000
	done
	# Objects are moved with an order that is promised to a NIC on another GPU: with gpu-fence it did fetch a WQE
	# too early where the queue wasn't the issuer's own. What a system fence costs goes by where the queue lies.
	o=sys-fence-record
	base=$(point path "$peer" $o)
	pp=$(point pingpong "$peer" -)
	moved "doorbell to the host" "$base" "$(point path "$peer db_mem=host" $o)" "$pp" "$(point pingpong "$peer db_mem=host" -)" - -
	moved "doorbell to the issuer" "$base" "$(point path "$peer db_mem=gpu" $o)" "$pp" "$(point pingpong "$peer db_mem=gpu" -)" - -
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
	rate_of "16 queues through a NIC on GPU 1" $peer_rate "$d/pair" nic=peer nic_gpu=1 batch=16 blocks=16 ordering=sys-fence-record
}
