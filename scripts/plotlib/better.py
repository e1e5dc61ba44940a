# SPDX-License-Identifier: Apache-2.0
"""Which way each metric of a row is better. Every name that the sources write stands in one of three tables
(tests/test_crossover.py compares them), so that none is taken for a cost because nobody thought of it."""
from . import Refused

MORE = ('rate', 'rate_queue', 'rate_marks', 'rate_explained', 'goodput', 'bandwidth', 'bandwidth_there', 'bandwidth_back',
        'bandwidth_slowest', 'ceiling', 'load_rate', 'carried', 'helper_batch', 'xlat_hits', 'reach', 'reach_pages',
        'cpu_mhz_before', 'cpu_mhz_after')
LESS = ('latency', 'latency_hit', 'latency_miss', 'miss', 'rtt', 'both_ways', 'responder', 'observer', 'polls', 'floor', 'fence', 'store',
        'one_way', 'one_way_back', 'offset_bound', 'clock_error', 'to_rung', 'to_first', 'to_end', 'call', 'launch_call', 'wakeup',
        'sleeps', 'wakeups', 'helper_cpu', 'helper_cores', 'helper_switches', 'helper_preempted', 'helper_rings',
        'register', 'deregister', 'register_first', 'deregister_first', 'staging_copy', 'staging_fence', 'registration_cost',
        'total_with_registration', 'xlat_misses', 'wrong_words', 'violations', 'violation_share', 'stale_words', 'flag_to_payload',
        'stale_wqe', 'stale_record', 'from_queue')
# As close as possible to what was planted, or a state that is as good either way.
NEITHER = ('plant_delta', 'plant_wall', 'respond_delta', 'nic_busy', 'helper_busy', 'asleep', 'other_knee')


def more_is(metric, have):
    """Whether more of it is better; `have`: the metrics of the rows, of which those that are legal are said."""
    if metric in MORE or metric in LESS:
        return metric in MORE
    why = 'is neither better nor worse when it is more' if metric in NEITHER else 'is in no table of which way is better'
    raise Refused(f'--metric: "{metric}" {why}; legal, of what these rows have: '
                  f'{", ".join(m for m in sorted(have) if m in MORE or m in LESS) or "none"}')
