#!/usr/bin/env bash
# torch 2.13.0, on a CPU.
#
# The first optimizer that a process makes imports the compiler's front end, torch._dynamo, with
# hundreds of modules, although nothing is compiled: Optimizer.add_param_group is marked as not to be
# traced, and the mark imports it at the first call. On one core of a Xeon this took 2.95 seconds of
# the processor, longer than `import torch` itself. A second optimizer imports nothing. A process that
# only translates pays none of it.
#
# Seen: 823 modules more in sys.modules after torch.optim.SGD, torch._dynamo among them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > optimizer.py <<'PY'
import sys

import torch

weight = torch.nn.Parameter(torch.zeros(1))
assert "torch._dynamo" not in sys.modules, "CHANGED: import torch brings torch._dynamo"
before = set(sys.modules)
torch.optim.SGD([weight], lr=0.1)
new = set(sys.modules) - before
assert "torch._dynamo" in new, "CHANGED: an optimizer no longer imports torch._dynamo"
assert len(new) > 400, f"CHANGED: only {len(new)} modules"
print(f"SGD: {len(new)} modules more")
before = set(sys.modules)
torch.optim.Adam([weight])
assert set(sys.modules) - before == set(), "CHANGED: a second optimizer imports modules"
print("Adam after it: none")
PY
venv/bin/python optimizer.py
echo "as described: the first optimizer imports torch._dynamo"
