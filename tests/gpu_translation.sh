#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Translation with a GPU: the probes `tlb` and `register`, and in `path` regions, the NIC's cache and registration.
# Of the probes a ladder over its own memory and over host memory by
# page size, each mechanism of CUDA, and what can't be refused before anything is
# allocated. A chase that doesn't walk its cycle fails the point, so exit 0 says that it did.
#
#   tests/gpu_translation.sh FIVESTAGE
#
# Exits 77 without a GPU.

. "$(dirname "$0")/gpu_rig.sh"

# row NAME REGEX: summary.csv has such a row
row() {
	grep -qE "$2" "$tmp/$1/summary.csv" || {
		echo "FAILED $1: no row /$2/"
		failed=$((failed + 1))
	}
}

expect own 0 'ok' probe=tlb issuer=gpu set=1G
row own ',translation,one-512-512,local,latency,ns,16,.*,ok,'
row own ',translation,packed-8388608-512,local,latency,ns,16,.*,ok,'
row own ',local,reach,B,'
expect host 0 'ok' probe=tlb issuer=gpu mem=host set=64M host_page=4k,2m
row host ',translation,one-16384-16384,pcie,latency,ns,16,'
row host ',pcie,reach,B,'
expect too-much 2 'set=.*GPU 0 has' probe=tlb issuer=gpu set=4000G
expect misfit 2 'legal: multiples of 2048K' probe=register mechanism=cu-mem bytes=4K
for m in cuda-malloc cu-mem host-alloc host-register; do
	expect "$m" 0 'ok' probe=register mechanism=$m bytes=2M,16M
	row "$m" ',translation,-,none,register,ns,[0-9]+,.*,ok,'
	row "$m" ',translation,-,none,deregister_first,ns,1,.*,ok,'
done
# drivers without open kernel modules export none, and say so
expect dma-buf '0' 'ok|exports no dma-buf' probe=register mechanism=dma-buf,cuda-malloc bytes=2M

# several regions and the NIC's translation cache: the NIC on other SMs
expect regions 0 'ok' issuer=gpu nic=peer nic_gpu=gpu messages=2000 mr_count=1,64,256
expect turn 0 'ok' issuer=gpu nic=peer nic_gpu=gpu messages=2000 mr_count=64 xlat_cache=32,64
row turn ',xlat_cache,64,.*,translation,fetched-translated,[a-z]+,latency_hit,ns,2000,'
row turn ',xlat_cache,32,.*,translation,fetched-translated,[a-z]+,latency_miss,ns,2000,'
row turn ',xlat_cache,64,.*,translation,-,none,xlat_misses,count,2000,0,'
expect random 0 'ok' issuer=gpu nic=peer nic_gpu=gpu messages=2000 mr_count=64 mr_order=random xlat_cache=16
row random ',translation,fetched-translated,[a-z]+,latency_hit,ns,[0-9]+,'
row random ',translation,fetched-translated,[a-z]+,latency_miss,ns,[0-9]+,'
expect cached-bare 0 'ok' issuer=gpu nic=peer nic_gpu=gpu messages=20000 metric=rate marks=outer depth=64 mr_count=64 xlat_cache=64
expect cached-fault 1 'syndrome 0x13' issuer=gpu nic=peer nic_gpu=gpu messages=2000 mr_count=64 xlat_cache=64 fault=key
expect cached-lkey 1 'syndrome 0x04' issuer=gpu nic=peer nic_gpu=gpu messages=2000 xlat_cache=64 fault=lkey payload=pointer
# registered for one message by CUDA, with a NIC on a CPU: no kernel is resident
expect on-demand 0 'ok' issuer=cpu nic=soft messages=200 registration=on-demand mechanism=host-register size=4K,64K,1M
row on-demand ',translation,-,none,register,ns,200,.*,ok,'
row on-demand ',translation,-,none,deregister,ns,200,.*,ok,'
expect no-kernel 2 'legal: nic=soft' issuer=gpu nic=peer registration=on-demand mechanism=mlock
expect no-kernel-either 2 'legal: submitter=proxy, or issuer=cpu' issuer=gpu nic=soft registration=on-demand mechanism=mlock

# copies by a GPU: from its own memory and from the host's, to where a NIC on SMs reads and where a CPU's does; a copy that is left out is found
for from in gpu host; do
	for at in 'nic=peer nic_gpu=gpu' 'nic=peer nic_gpu=gpu src_mem=host' \
		'nic=soft ordering=sys-fence-record' 'nic=soft submitter=proxy' 'nic=soft submitter=proxy proxy=baseline'; do
		n=staged-$from-$(echo "$at" | tr -c 'a-z\n' -)
		expect "$n" 0 'ok' issuer=gpu $at messages=200 registration=staged staged_from=$from size=8,300,4097,64K,1M
		row "$n" ',translation,-,none,staging_copy,ns,200,'
		row "$n" ',translation,-,none,staging_fence,ns,200,'
		row "$n" ',total,-,none,total_with_registration,ns,200,'
		expect "$n-outer" 0 'ok' issuer=gpu $at messages=200 registration=staged staged_from=$from size=300 marks=outer
		expect "$n-lost" 1 'wrong payload words, first in message' issuer=gpu $at messages=200 registration=staged staged_from=$from size=8,4097 fault=lost-copy
	done
done
expect staged-rotate 0 'ok' issuer=gpu nic=peer nic_gpu=gpu messages=200 registration=staged size=300 marks=rotate
expect staged-cpu 0 'ok' issuer=cpu nic=peer messages=200 registration=staged size=300

# a proxy registers for a GPU
expect on-demand-gpu 0 'ok' issuer=gpu nic=soft submitter=proxy messages=200 registration=on-demand mechanism=mlock size=300,4K,64K,1M
row on-demand-gpu ',translation,-,none,register,ns,200,'
row on-demand-gpu ',translation,-,none,deregister,ns,200,'
expect registered-already 2 'legal: mechanism=mlock' issuer=gpu nic=soft submitter=proxy registration=on-demand mechanism=host-register

ended
