# SPDX-License-Identifier: Apache-2.0
"""Rules of the tree, each with a negative control: a tree with one bad file must
be found out, by that rule.

    check_layers.py ROOT
"""
import os
import re
import subprocess
import sys
import tempfile

DIRS = ('bench', 'harness', 'stages', 'tests')
SOURCE = ('.c', '.h', '.cu', '.cuh', '.h.in')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
COMMENT = re.compile(r'/\*.*?\*/', re.S)

# Whom the files of a layer may include; bench -> stages -> harness.
MAY = {'harness': ('harness',), 'stages': ('stages', 'harness'), 'bench': ('bench', 'stages', 'harness')}
CUDA = re.compile(r'^(cuda[a-z_]*\.h|cuda/.*|cooperative_groups.*|cub/.*|thrust/.*|device_.*\.h|sm_\d.*\.h|cupti.*\.h)$')
HD = re.compile(r'^stages/(queue/[^/]+\.h|nic/(engine|engine_other|engine_parts|engine_run|engine_types|cache|check|flame|keys|move|payload)\.h|issuer/(args|run|post|staging)\.h|translation/chase\.h)$')
# hd.h needs a CPU agent's wall clock; everybody else has integers alone.
HD_MAY = {'stdint.h'}
HD_MAY_ALSO = {'stages/queue/hd.h': {'time.h', 'sched.h'}}
GENERATED = {'revision.h'}


def sources(root):
    for top in DIRS:
        for d, _, names in os.walk(os.path.join(root, top)):
            for n in sorted(names):
                if n.endswith(SOURCE):
                    yield os.path.relpath(os.path.join(d, n), root)


def text_of(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as f:
        return f.read()


def check_includes(root, path, text):
    layer = path.split('/')[0]
    for quote, name in INCLUDE.findall(COMMENT.sub('', text)):
        top = name.split('/')[0]
        if quote == '"' and name not in GENERATED and not os.path.exists(os.path.join(root, name)):
            yield 'rooted', f'"{name}" is not written from the root of the tree'
        if layer in MAY and top in DIRS and top not in MAY[layer]:
            yield 'layers', f'{layer} must not include {name}'
        if name.startswith('infiniband/') and not path.startswith(('stages/nic/', 'tests/')):
            yield 'infiniband', f'{name} belongs to stages/nic and tests alone'
        if CUDA.match(name) and not path.endswith(('_cuda.c', '.cu')):
            yield 'cuda', f'{name} belongs to *_cuda.c and *.cu alone'
        if name.startswith('hwloc') and path != 'harness/pin.c':
            yield 'hwloc', f'{name} belongs to harness/pin.c alone'
        if name == 'nvml.h':
            yield 'nvml', 'NVML is loaded at run time: its header is not needed'
        if HD.match(path) and quote == '<' and name not in HD_MAY | HD_MAY_ALSO.get(path, set()):
            yield 'hd', f'<{name}>: code for both sides has {", ".join(sorted(HD_MAY))} and its own kind'
        if HD.match(path) and quote == '"' and not HD.match(name):
            yield 'hd', f'"{name}" is not code for both sides'


def check_text(path, text):
    if not text.startswith('/* SPDX-License-Identifier: Apache-2.0 */\n'):
        yield 'licence', 'the first line is not the licence'
    code = COMMENT.sub('', text)
    if ('libnvidia-ml' in code or re.search(r'\bdlopen\s*\(', code)) and path not in (
            'harness/nvml.c', 'tests/test_nvml.c'):
        yield 'nvml', 'libraries are loaded by harness/nvml.c alone'
    if not path.startswith(('bench/', 'tests/')) and re.search(r'(?<![\w.>_])exit\s*\(', code):
        yield 'exit', 'only bench/ exits'


def check_header(root, path):
    """Every header compiles on its own: as C, and as C++ when it is for both sides."""
    ways = [['cc', '-x', 'c', '-std=gnu11', '-D_GNU_SOURCE']]
    if HD.match(path):
        ways.append(['c++', '-x', 'c++', '-std=c++17'])
    for way in ways:
        try:
            # Included, not compiled: so its functions may stay unused.
            r = subprocess.run([*way, '-fsyntax-only', '-Wall', '-Wextra', '-Wno-unused-function', '-Werror',
                                '-I' + root, '-'], input=f'#include "{path}"\n', capture_output=True,
                               text=True, check=False, cwd=root)
        except FileNotFoundError:
            print(f'{way[0]} is not installed: headers were not compiled with it')
            continue
        if r.returncode:
            yield 'header', f'does not compile on its own ({way[0]}): {r.stderr.strip().splitlines()[:3]}'


def check(root):
    found = []
    for path in sources(root):
        text = text_of(root, path)
        found += [(rule, path, words) for rule, words in check_includes(root, path, text)]
        found += [(rule, path, words) for rule, words in check_text(path, text)]
        if path.endswith('.h'):
            found += [(rule, path, words) for rule, words in check_header(root, path)]
    return found


L = '/* SPDX-License-Identifier: Apache-2.0 */\n'
# rule, file, its text; the control is that rule, at that file, and no other.
CONTROLS = (
    ('layers', 'harness/a.c', L + '#include "stages/x.h"\n'),
    ('layers', 'harness/a.h', L + '  #  include "bench/x.h"\n'),
    ('layers', 'stages/nic/a.c', L + '#include "bench/x.h"\n'),
    ('layers', 'stages/a.cu', L + '#include <bench/x.h>\n'),
    ('rooted', 'stages/nic/a.c', L + '#include "../x.h"\n'),
    ('infiniband', 'stages/place/a.c', L + '#include <infiniband/verbs.h>\n'),
    ('infiniband', 'harness/a.c', L + '#include <infiniband/mlx5dv.h>\n'),
    ('cuda', 'stages/nic/a.c', L + '#include <cuda_runtime.h>\n'),
    ('cuda', 'stages/nic/a.c', L + '#include <cuda.h>\n'),
    ('cuda', 'harness/a.c', L + '#include <cuda_runtime_api.h>\n'),
    ('cuda', 'bench/a.c', L + '#include <cooperative_groups.h>\n'),
    ('hwloc', 'harness/machine.c', L + '#include <hwloc.h>\n'),
    ('hwloc', 'stages/place/a.c', L + '#include <hwloc/cuda.h>\n'),
    ('nvml', 'harness/a.c', L + 'void *f(void) { return dlopen("x", 1); }\n'),
    ('nvml', 'stages/a.c', L + 'const char *f = "libnvidia-ml.so.1";\n'),
    ('nvml', 'harness/nvml.c', L + '#include <nvml.h>\n'),
    ('exit', 'harness/a.c', L + 'void f(void) { exit(1); }\n'),
    ('licence', 'harness/a.c', '/* Nothing. */\n'),
    ('header', 'harness/a.h', L + 'uint64_t f(void);\n'),
    ('header', 'stages/queue/a.h', L + '#include <stdint.h>\nstatic inline int *f(void *p) { return p; }\n'),
    ('header', 'stages/nic/keys.h', L + 'static inline int f(int class) { return class; }\n'),
    ('hd', 'stages/queue/a.h', L + '#include <stdio.h>\n'),
    ('hd', 'stages/nic/engine.h', L + '#include <time.h>\n'),
    ('hd', 'stages/issuer/post.h', L + '#include "harness/x.h"\n'),
    ('hd', 'stages/issuer/run.h', L + '#include <stdio.h>\n'),
)
# What must not be found: the same where it may stand.
ALLOWED = (
    ('stages/nic/mlx5.c', L + '#include <infiniband/mlx5dv.h>\n'),
    ('tests/a.c', L + '#include <infiniband/mlx5dv.h>\n'),
    ('stages/place/a_cuda.c', L + '#include <cuda_runtime_api.h>\n'),
    ('stages/nic/a.cu', L + '#include <cuda_runtime.h>\n'),
    ('harness/pin.c', L + '#include <hwloc.h>\n'),
    ('harness/nvml.c', L + 'void *f(void) { return dlopen("libnvidia-ml.so.1", 1); }\n'),
    ('harness/a.c', L + '/* #include "stages/x.h"\n#include "bench/x.h" */\nvoid f(void) { _exit(1); }\n'),
    ('bench/a.c', L + '#include "stages/x.h"\n#include "harness/x.h"\n#include "bench/x.h"\n'),
    ('stages/nic/a.h', L + 'static inline int f(int class) { return class; }\n'),
)


def with_tree(path, text):
    with tempfile.TemporaryDirectory(prefix='fivestage-layers-') as root:
        for p, t in (('harness/x.h', L), ('stages/x.h', L), ('bench/x.h', L), (path, text)):
            os.makedirs(os.path.dirname(os.path.join(root, p)), exist_ok=True)
            with open(os.path.join(root, p), 'w', encoding='utf-8') as f:
                f.write(t)
        return check(root)


def main():
    bad = 0
    for rule, path, text in CONTROLS:
        found = with_tree(path, text)
        if {(r, p) for r, p, _ in found} != {(rule, path)}:
            print(f'control: {path} should break the rule "{rule}" alone, found: {found}\n{text}')
            bad += 1
    for path, text in ALLOWED:
        found = with_tree(path, text)
        if found:
            print(f'control: {path} is legal, found: {found}\n{text}')
            bad += 1
    root = os.path.abspath(sys.argv[1])
    found = check(root)
    for rule, path, words in found:
        print(f'{path}: {rule}: {words}')
    print(f'{len(list(sources(root)))} files, {len(CONTROLS) + len(ALLOWED)} controls, '
          f'{len(found)} faults, {bad} controls off')
    return 1 if bad or found or not list(sources(root)) else 0


if __name__ == '__main__':
    sys.exit(main())
