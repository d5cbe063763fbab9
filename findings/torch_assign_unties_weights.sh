#!/usr/bin/env bash
# torch 2.13.0, on a CPU.
#
# load_state_dict(..., assign=True) makes a parameter of its own for each name. Two names that were
# one tied parameter become two parameters. Where the state holds one tensor under both names, as
# state_dict() of a tied model does, they still share their memory: the loss is right, gradients are
# recorded twice, each in part, and Adam moves the same numbers twice a step.
#
# Seen: after loading there are two parameters in one memory, and a step of Adam with a rate of 0.1
# moves a weight that both uses touch by 0.2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > tied.py <<'PY'
import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.output = nn.Linear(3, 5, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, ids):
        return self.output(self.embedding(ids))


def loaded(assign):
    torch.manual_seed(0)
    model = Tied()
    print(model.load_state_dict(Tied().state_dict(), assign=assign), end=" ")
    return model


for assign, count, moved in ((False, 1, 0.1), (True, 2, 0.2)):
    model = loaded(assign)
    parameters = list(model.parameters())
    assert len(parameters) == count, f"CHANGED: {len(parameters)} parameters with assign={assign}"
    assert len({parameter.data_ptr() for parameter in parameters}) == 1
    before = model.embedding.weight.detach().clone()
    optimizer = torch.optim.Adam(parameters, lr=0.1)
    # Each use has the gradient 1 for the row of token 2.
    sum(parameter[2].sum() for parameter in (model.embedding.weight, model.output.weight)).backward()
    optimizer.step()
    step = (before - model.embedding.weight.detach())[2].abs().max()
    print(f"assign={assign}: {count} parameters, moved by {step:.3f}")
    torch.testing.assert_close(float(step), moved, rtol=1e-4, atol=0)
PY
venv/bin/python tied.py
echo "as described: assign=True unties, and Adam moves the shared memory twice"
