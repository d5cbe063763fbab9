#!/usr/bin/env bash
# torch 2.13.0, on a CPU.
#
# Two ways in which LambdaLR, the usual way to write a warm-up, leaves the schedule in silence:
# 1. Built after the optimizer's state was loaded, it sets the rate of its step 0, and loading its
#    own state does not put the rate back: the first resumed step is made with a rate of the warm-up.
# 2. GradScaler.step leaves out a step whose gradients overflow; scheduler.step() counts it. There
#    is a warning if this happens at the first step alone, and it blames the order of the calls.
#
# Seen: resumed after 6 steps the rate is 0.125 in place of 0.378; and after one overflow in four
# steps Adam has made 3 updates while the schedule stands at 4.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > rates.py <<'PY'
import warnings

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

warnings.simplefilter("error")


def paper(step):
    return min((step + 1) ** -0.5, (step + 1) * 4**-1.5)


def new():
    parameter = nn.Parameter(torch.ones(1))
    return parameter, torch.optim.Adam([parameter], lr=1.0)


parameter, optimizer = new()
scheduler = LambdaLR(optimizer, paper)
for _ in range(6):
    parameter.grad = torch.ones(1)
    optimizer.step()
    scheduler.step()
saved = optimizer.state_dict(), scheduler.state_dict()
right = optimizer.param_groups[0]["lr"]

_, first = new()
scheduler = LambdaLR(first, paper)
first.load_state_dict(saved[0])
scheduler.load_state_dict(saved[1])
_, last = new()
last.load_state_dict(saved[0])
scheduler = LambdaLR(last, paper)
scheduler.load_state_dict(saved[1])
rates = [each.param_groups[0]["lr"] for each in (first, last)]
print(f"rate {right:.3f}; resumed: built before loading {rates[0]:.3f}, after it {rates[1]:.3f}")
assert rates[0] == right
assert rates[1] == paper(0) != right, "CHANGED: the order does not matter"


def steps(overflow_at):
    parameter, optimizer = new()
    scheduler = LambdaLR(optimizer, paper)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    for step in range(4):
        scaler.scale(torch.zeros(()))
        parameter.grad = torch.full((1,), torch.inf if step == overflow_at else 1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
    return int(optimizer.state[parameter]["step"]), scheduler.last_epoch


print("updates, and where the schedule stands:", steps(overflow_at=1))
assert steps(overflow_at=1) == (3, 4), "CHANGED: the schedule waits for the scaler"
try:
    steps(overflow_at=0)
except UserWarning as warning:
    assert "before `optimizer.step()`" in str(warning)
else:
    raise SystemExit("CHANGED: no warning at the first step")
PY
venv/bin/python rates.py
echo "as described: build LambdaLR before loading, and step it only where the scaler did"
