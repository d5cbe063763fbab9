#!/usr/bin/env bash
# torch 2.13.0, on a CPU.
#
# get_total_norm, and with it clip_grad_norm_, takes no sparse gradients, which
# nn.Embedding(sparse=True) has and torch.optim.SparseAdam needs.
#
# Seen: NotImplementedError "Could not run 'aten::linalg_vector_norm' with arguments from the
# 'SparseCPU' backend"; the norm of its values, coalesced, is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > norm.py <<'PY'
import torch
from torch import nn

table = nn.Embedding(10, 4, sparse=True)
table(torch.tensor([1, 2, 2])).sum().backward()
for ask in (
    lambda: nn.utils.get_total_norm([table.weight.grad]),
    lambda: nn.utils.clip_grad_norm_(table.parameters(), 1.0),
):
    try:
        ask()
    except NotImplementedError as error:
        print(str(error)[:92])
        assert "'aten::linalg_vector_norm'" in str(error)
    else:
        raise SystemExit("CHANGED: a norm of sparse gradients")
right = table.weight.grad.to_dense().norm()
assert torch.equal(nn.utils.get_total_norm([table.weight.grad.coalesce().values()]), right)
PY
venv/bin/python norm.py
echo "as described: gradients of a sparse embedding cannot be clipped"
