#!/usr/bin/env bash
# torch 2.13.0, on a CPU.
#
# Where every key of one row of a batch is hidden, nn.MultiheadAttention gives NaN for that row if
# weights are asked for, which is the default, and a finite output if they are not. The NaN row need
# not enter the loss: the gradients of all weights, to which the other rows belong too, are NaN.
# With dropout in training the weights that it returns are those after dropout: no row sums to 1.
#
# Seen: two rows, the second all padding, the loss of the first alone: the gradient of every
# projection is NaN with need_weights=True and finite with need_weights=False.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > hidden.py <<'PY'
import torch
from torch import nn

torch.manual_seed(0)
hidden_states = torch.randn(2, 3, 8)
padding = torch.tensor([[False] * 3, [True] * 3])
for need_weights in (True, False):
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    output, _ = attention(
        *[hidden_states] * 3, key_padding_mask=padding, need_weights=need_weights
    )
    output[0].sum().backward()
    share = float(attention.in_proj_weight.grad.isnan().float().mean())
    print(f"need_weights={need_weights}: {share:.0%} of the projections' gradient is NaN")
    assert output[0].isfinite().all()
    assert share == float(need_weights), "CHANGED"
attention = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True)
_, weights = attention(*[hidden_states] * 3)
print("rows of the weights with dropout sum to", [round(each, 2) for each in weights[0].sum(-1).tolist()])
assert (weights.sum(-1) - 1).abs().max() > 0.1, "CHANGED: weights before dropout"
PY
venv/bin/python hidden.py
echo "as described: asked for its weights, one hidden row makes all gradients NaN"
