#!/usr/bin/env bash
# tokenizers 0.23.3.
#
# BPE's dropout, which cuts a word in another way each time, is meant for training. It is saved in
# tokenizer.json and works on when the file is loaded to translate: one sentence has other ids at
# each call. It draws from the library's own generator, and there is no function to seed it.
#
# Seen: after saving and loading, 200 calls cut "abc" in three ways; with every seed of Python and
# numpy set anew two series of calls differ; setting model.dropout to None ends it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check tokenizers==0.23.3 numpy==2.4.6
cat > dropout.py <<'PY'
import random

import numpy
import tokenizers
from tokenizers import Tokenizer
from tokenizers.models import BPE

ids = {"a": 0, "b": 1, "ab": 2, "c": 3, "abc": 4}
Tokenizer(BPE(ids, [("a", "b"), ("ab", "c")], dropout=0.5)).save("tokenizer.json")
loaded = Tokenizer.from_file("tokenizer.json")


def series():
    random.seed(1)
    numpy.random.seed(1)
    return [tuple(loaded.encode("abc").ids) for _ in range(200)]


print(set(series()))
assert set(series()) == {(4,), (2, 3), (0, 1, 3)}, "CHANGED: dropout is not loaded"
assert series() != series(), "CHANGED: the draws are seeded"
names = [*dir(tokenizers), *dir(loaded), *dir(loaded.model)]
assert not [name for name in names if "seed" in name.lower()], "CHANGED: there is a seed"
loaded.model.dropout = None
assert set(series()) == {(4,)}
PY
venv/bin/python dropout.py
echo "as described: dropout is saved, works on after loading and cannot be seeded"
