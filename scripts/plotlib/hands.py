# SPDX-License-Identifier: Apache-2.0
"""Many figures on several CPUs: processes forked from this one, which has read everything,
draw every n-th of them; their files are told here in the order of the list.
"""
import json
import os
import signal
import sys

from . import Refused

HANDS_MAX = 8
FEW = 8         # figures that are drawn sooner than processes are made


def hands_for(jobs):
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else 1
    return min(cpus, HANDS_MAX, jobs // FEW + 1)


def drawn(jobs, draw, fault_of):
    """What draw(job) gives, for each job in its order. draw raises Refused; of whatever
    else it raises in another process, fault_of(error) are the words."""
    hands = hands_for(len(jobs))
    if hands < 2:
        for job in jobs:
            yield draw(job)
        return
    sys.stdout.flush()
    pipes, pids = [], []
    try:
        for k in range(hands):
            out, into = os.pipe()
            pid = os.fork()
            if not pid:
                work(jobs[k::hands], draw, fault_of, into, [out, *(p.fileno() for p in pipes)])
            os.close(into)
            pids.append(pid)
            pipes.append(os.fdopen(out, encoding='utf-8'))
        for i in range(len(jobs)):
            line = pipes[i % hands].readline()
            told = json.loads(line) if line.endswith('\n') else {'refused': 'a process that drew figures was killed'}
            if 'refused' in told:
                raise Refused(told['refused'])
            yield told['drawn']
    finally:
        # Whoever still draws ends when nobody listens, with the figure that it is at: no half
        # file is left.
        for p in pipes:
            p.close()
        for pid in pids:
            os.waitpid(pid, 0)


def work(jobs, draw, fault_of, into, others):
    """A process of its own; doesn't return."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)    # the first process is told, and tells us
        for fd in others:
            os.close(fd)
        with os.fdopen(into, 'w', encoding='utf-8') as f:
            for job in jobs:
                try:
                    told = {'drawn': draw(job)}
                except Exception as e:  # pylint: disable=broad-except
                    told = {'refused': str(e) if isinstance(e, Refused) else fault_of(e)}
                print(json.dumps(told), file=f, flush=True)
                if 'refused' in told:
                    break
    except OSError:
        pass
    finally:
        os._exit(0)     # nothing of the first process's is written twice
