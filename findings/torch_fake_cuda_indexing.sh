#!/usr/bin/env bash
# torch 2.13.0, a build without CUDA.
#
# FakeTensorMode runs code for a device that is not there: tensors have shapes and a device, and no
# numbers. In a build without CUDA, matrix products, softmax, attention, embeddings and the functions
# narrow, select, unsqueeze and index_select run on fake tensors of "cuda". The same written with
# brackets raises an error: x[1:3], x[0], x[:, None], x[ids], x[...], whatever is inside. Python's
# indexing asks for a guard of the device before the mode sees the operation. On "meta" brackets work.
# So code for a GPU cannot be tried this way on a machine without one, unless it has no brackets.
#
# Seen: RuntimeError: PyTorch is not linked with support for cuda devices
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > fake.py <<'PY'
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

if torch.backends.cuda.is_built():
    sys.exit("this build has CUDA: set PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu")


def shape_on(device, function):
    with FakeTensorMode():
        rows = torch.empty(5, 3, device=device)
        ids = torch.zeros(2, dtype=torch.long, device=device)
        return tuple(function(rows, ids).shape)


functions = {
    "narrow": lambda rows, ids: rows.narrow(0, 1, 2),
    "select": lambda rows, ids: rows.select(0, 0),
    "unsqueeze": lambda rows, ids: rows.unsqueeze(1),
    "index_select": lambda rows, ids: rows.index_select(0, ids),
    "embedding": lambda rows, ids: F.embedding(ids, rows),
    "softmax of a product": lambda rows, ids: (rows @ rows.T).softmax(-1),
}
brackets = {
    "rows[1:3]": lambda rows, ids: rows[1:3],
    "rows[0]": lambda rows, ids: rows[0],
    "rows[:, None]": lambda rows, ids: rows[:, None],
    "rows[ids]": lambda rows, ids: rows[ids],
    "rows[...]": lambda rows, ids: rows[...],
}
for name, function in functions.items():
    print(f"cuda, {name}: {shape_on('cuda', function)}")
for name, function in brackets.items():
    print(f"meta, {name}: {shape_on('meta', function)}")
    try:
        shape = shape_on("cuda", function)
    except RuntimeError as error:
        assert "not linked with support for cuda" in str(error), f"CHANGED: {error}"
        print(f"cuda, {name}: {error}")
    else:
        sys.exit(f"CHANGED: {name} runs, {shape}")
PY
venv/bin/python fake.py
echo "as described: functions run on fake tensors of cuda, and brackets do not"
