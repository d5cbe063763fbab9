#!/usr/bin/env bash
# torch 2.13.0, on a CPU.
#
# torch.compile(dynamic=True) makes one graph of an encoder-decoder for all batches, source lengths
# and target lengths, as long as each is 2 or more. An axis of size 1 is a constant to it: every
# pattern of axes of size 1 (the last batch of one sentence, search one by one, a first token) is a
# graph of its own, eight in all, compiled when it is first met, in the middle of a run.
#
# Seen: 12 shapes of sizes from 2 to 11 make 1 graph; then the seven patterns with a 1 in them make 7
# more. Counted before any code is generated, so that the script is quick.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > graphs.py <<'PY'
import itertools

import torch
from torch import nn
from torch._dynamo.testing import CompileCounter

torch._dynamo.config.recompile_limit = 64
rows, columns, depths = (2, 4, 3, 5), (3, 7, 6), (5, 9, 8, 11, 4)
MANY = list(itertools.islice(zip(rows * 9, columns * 9, depths * 9), 12))
WITH_ONE = [shape for shape in itertools.product((1, 5), (1, 6), (1, 7)) if 1 in shape]


class EncoderDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(20, 16), nn.Linear(16, 20)
        self.network = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)

    def forward(self, src, tgt):
        future = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).triu(1)
        settings = {"tgt_mask": future, "tgt_is_causal": True, "src_key_padding_mask": src == 0}
        return self.out(self.network(self.embed(src), self.embed(tgt), **settings))


def graphs():
    counter, counts = CompileCounter(), []
    network = torch.compile(EncoderDecoder(), backend=counter, dynamic=True)
    for batch, src_len, tgt_len in (*MANY, *WITH_ONE):
        network(torch.randint(1, 20, (batch, src_len)), torch.randint(1, 20, (batch, tgt_len)))
        counts.append(counter.frame_count)
    return counts[len(MANY) - 1], counts[-1]


assert len(set(MANY)) == 12 and len(WITH_ONE) == 7
many, all_shapes = graphs()
print(f"{many} graph for 12 shapes, {all_shapes} with the seven patterns of ones")
assert (many, all_shapes) == (1, 8), "CHANGED"
PY
OMP_NUM_THREADS=1 venv/bin/python graphs.py
echo "as described: one graph for all sizes but 1, and one for each pattern of ones"
