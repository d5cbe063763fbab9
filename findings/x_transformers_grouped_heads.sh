#!/usr/bin/env bash
# x-transformers 2.31.10 beside torch 2.13.0, on a CPU.
#
# With fewer key heads than query heads, x-transformers' Attention gives query head i the key head
# i % kv_heads. torch's scaled_dot_product_attention(enable_gqa=True) gives it i // (heads / kv_heads),
# as Llama's weights are laid out: consecutive query heads share. Shapes are the same, so weights
# copied from one to the other load, and attend by other keys without a word. With one key head, or
# as many as query heads, the two agree.
#
# Seen: for six query heads and two key heads outputs differ by 0.1 and more; by less than 1e-6 if
# the key heads are repeated as a whole. So with and without flash.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6 x-transformers==2.31.10
cat > order.py <<'PY'
import torch
from torch.nn.functional import scaled_dot_product_attention
from x_transformers.x_transformers import Attention

BATCH, LENGTH, DIM, HEADS, WIDTH = 3, 7, 16, 6, 5


def split(joined, heads):
    return joined.unflatten(-1, (heads, WIDTH)).transpose(1, 2)


torch.manual_seed(0)
x = torch.randn(BATCH, LENGTH, DIM)
for flash in (False, True):
    for key_heads in (1, 2, 6):
        layer = Attention(DIM, dim_head=WIDTH, heads=HEADS, kv_heads=key_heads, flash=flash).eval()
        with torch.no_grad():
            queries = split(layer.to_q(x), HEADS)
            keys, values = (split(part(x), key_heads) for part in (layer.to_k, layer.to_v))
            repeated = [part.repeat(1, HEADS // key_heads, 1, 1) for part in (keys, values)]
            read = {
                "i // (heads / kv_heads)": scaled_dot_product_attention(
                    queries, keys, values, enable_gqa=True
                ),
                "i % kv_heads": scaled_dot_product_attention(queries, *repeated),
            }
            theirs = layer(x)
            apart = {
                name: (layer.to_out(each.transpose(1, 2).flatten(2)) - theirs).abs().max().item()
                for name, each in read.items()
            }
        print(f"flash={flash}, {key_heads} of {HEADS} key heads:", apart)
        assert apart["i % kv_heads"] < 1e-6, "CHANGED: another order"
        in_torch_order = apart["i // (heads / kv_heads)"]
        assert in_torch_order > 0.1 if key_heads == 2 else in_torch_order < 1e-6, "CHANGED"
PY
venv/bin/python order.py
echo "as described: query head i reads key head i % kv_heads; in torch its group's"
