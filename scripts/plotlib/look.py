# SPDX-License-Identifier: Apache-2.0
"""How things look, the same in every figure: the table of stages and that of origins.

The colours keep apart for every kind of colour blindness, and by lightness alone
when printed in grey; tests/test_plot_colours.py computes both. Lines also differ
by marker. Names are those of stages/stage.c (tests/test_plot_names.py).
"""
from collections import namedtuple

Stage = namedtuple('Stage', 'name colour ink marker')

# In the order of stages/stage.c, which is also the order from the axis outwards.
# `ink`: what can be read, and hatched, on the colour.
STAGES = (
    Stage('issue', '#16233f', 'white', 'o'),
    Stage('crossing', '#70378f', 'white', 's'),
    Stage('translation', '#c24e14', 'white', '^'),
    Stage('handoff', '#4cadbf', 'black', 'D'),
    Stage('completion', '#f3c447', 'black', 'v'),
    Stage('queueing', '#ececec', 'black', 'P'),
)
# Not stages: sums over them, and rows that are of no stage at all.
SUMS = (
    Stage('total', '#000000', 'white', '*'),
    Stage('submit', '#7f7f7f', 'black', 'X'),
    Stage('-', '#4d4d4d', 'white', 'h'),
)
LOOK = {s.name: s for s in STAGES + SUMS}
FIVE = tuple(s.name for s in STAGES[:5])

# How a figure's origin is seen; `says` goes into the legend.
Origin = namedtuple('Origin', 'name hatch says')
ORIGINS = (
    Origin('measured', '', 'measured'),
    Origin('emulated', '////', "emulated: a software NIC's own work"),
    Origin('fitted', '....', 'fitted: from differences of points'),
    Origin('analytic', 'xxxx', 'analytic: computed from what the machine says of itself'),
)
ORIGIN = {o.name: o for o in ORIGINS}

FLAGGED = '#d00000'

# Units of variables that have one (stages/vars.c).
VARIABLE_UNIT = {'size': 'B', 'fresh': 'B', 'ahead': 'B', 'set': 'B', 'bytes': 'B', 'segment': 'B', 'stride': 'B', 'plant': 'ns', 'untold': 'ns', 'respond_ns': 'ns',
                 'others_pace': 'ns', 'cpu_state_ms': 'ms'}

# Marks that are read on another clock than the issuer's.
NIC_MARKS = ('seen', 'started', 'fetched', 'translated', 'read', 'written', 'completed')
HELPER_MARKS = ('taken', 'caught', 'relayed')

# What the metrics are called on an axis.
METRIC_SAYS = {
    'latency': 'mean time', 'rate': 'mean rate', 'goodput': 'payload moved', 'observer': 'cost of taking all marks',
    'carried': 'messages of others', 'floor': 'bare loop', 'fence': 'one fence and a store', 'polls': 'looks at a completion', 'responder': "the responder's own time",
    'to_rung': 'from the decision to the first doorbell', 'to_first': 'from the decision to the first instruction',
    'to_end': "from the decision to the stream's end", 'call': 'the call that starts', 'launch_call': 'the call that launches the next kernel', 'asleep': 'launches that found their thread asleep',
    'cpu_mhz_before': "clock of the helper's or NIC's CPU before", 'cpu_mhz_after': "clock of the helper's or NIC's CPU after", 'clock_error': 'what is not known of an offset',
    'violation_share': 'messages with older words behind their flag', 'violations': 'messages with older words behind their flag',
    'stale_words': 'older words behind a flag', 'flag_to_payload': 'mean time from the flag to the payload',
    'helper_cpu': "CPU time of helpers", 'helper_cores': 'cores that helpers keep busy', 'helper_busy': 'share of the time that workers have something to do',
    'helper_batch': 'descriptors a doorbell',
    'stale_wqe': 'stale WQEs fetched', 'stale_record': 'stale records read',
    'register': 'giving memory to a device', 'deregister': 'taking it back',
    'staging_copy': 'copying into registered memory', 'staging_fence': 'the fence behind that copy', 'registration_cost': 'registering and taking back, or copying',
    'total_with_registration': 'mean time with registration', 'latency_hit': 'mean time where the cache had all',
    'latency_miss': 'mean time where the cache had not all', 'xlat_hits': "lookups that the NIC's cache answered",
    'xlat_misses': 'lookups that walked',
    'register_first': 'giving memory for the first time', 'deregister_first': 'taking it back for the first time',
    'bandwidth': 'mean bandwidth', 'bandwidth_there': 'mean bandwidth of the way there',
    'bandwidth_back': 'mean bandwidth of the way back', 'ceiling': 'ceiling of the link', 'store': 'mean time of a store',
    'one_way': 'mean time of one way', 'one_way_back': 'mean time of the way back',
    'offset_bound': 'what an offset of the clocks can be',
    'plant_delta': 'moved by the plant', 'plant_wall': 'wall time added by the plant',
}
