#!/usr/bin/env bash
# torch 2.13.0, on a CPU.
#
# CrossEntropyLoss(label_smoothing=e, ignore_index=pad) leaves out targets that are padding, and
# yet asks every other target for e / V of probability at padding's own type, which no target ever
# is.
#
# Seen: with e = 0.7, V = 7, targets 3 and 4 of equal frequency and free logits, gradient descent
# ends at a probability of 0.1 for padding, which is e / V.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > smoothing.py <<'PY'
import torch
from torch import nn

PAD, E, V = 0, 0.7, 7
loss = nn.CrossEntropyLoss(label_smoothing=E, ignore_index=PAD)
logits = torch.zeros(V, requires_grad=True)
targets = torch.tensor([3, 4, PAD, PAD])
for _ in range(2000):
    (gradient,) = torch.autograd.grad(loss(logits.expand(4, V), targets), logits)
    logits.data -= gradient
probabilities = logits.softmax(-1).tolist()
print([round(each, 3) for each in probabilities])
assert abs(probabilities[PAD] - E / V) < 1e-4, "CHANGED: padding has no share"
assert abs(probabilities[3] - ((1 - E) / 2 + E / V)) < 1e-4
PY
venv/bin/python smoothing.py
echo "as described: the optimum gives padding label_smoothing / num_classes"
