#!/usr/bin/env bash
# torch 2.13.0, on a CPU.
#
# nn.TransformerDecoderLayer, nn.TransformerEncoderLayer and nn.Transformer take a hint that a mask
# is causal. The hint without a mask raises "Need attn_mask if specifying the is_causal hint" in
# training, and in evaluation while gradients are recorded. In evaluation under no_grad it is
# accepted in silence, and nothing is hidden: earlier positions read later ones.
#
# Seen: with the last of five positions changed, the first four outputs change too, by 0.3 or more;
# with the mask given as well they do not change at all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cat > hint.py <<'PY'
import torch
from torch import nn

torch.manual_seed(0)
tgt, memory = torch.randn(2, 5, 16), torch.randn(2, 4, 16)
changed = tgt.clone()
changed[:, -1] += 1  # the last position alone
mask = nn.Transformer.generate_square_subsequent_mask(5)
settings = {"d_model": 16, "nhead": 2, "dim_feedforward": 32, "dropout": 0.0, "batch_first": True}
decoder = nn.TransformerDecoderLayer(**settings)
encoder = nn.TransformerEncoderLayer(**settings)
whole = nn.Transformer(num_encoder_layers=1, num_decoder_layers=1, **settings)
calls = {
    "TransformerDecoderLayer": (decoder, lambda x, m: decoder(x, memory, m, tgt_is_causal=True)),
    "TransformerEncoderLayer": (encoder, lambda x, m: encoder(x, m, is_causal=True)),
    "Transformer": (whole, lambda x, m: whole(memory, x, tgt_mask=m, tgt_is_causal=True)),
}


def is_refused(call):
    try:
        call(tgt, None)
    except RuntimeError as error:
        return "Need attn_mask if specifying the is_causal hint" in str(error)
    return False


for name, (module, call) in calls.items():
    assert is_refused(lambda x, m: (module.train(), call(x, m))), name
    assert is_refused(lambda x, m: (module.eval(), call(x, m))), name
    module.eval()
    with torch.no_grad():
        leaked = (call(tgt, None)[:, :4] - call(changed, None)[:, :4]).abs().max()
        masked = (call(tgt, mask)[:, :4] - call(changed, mask)[:, :4]).abs().max()
    print(f"{name}: earlier outputs change by {leaked:.2f} without the mask, {masked:.2f} with it")
    assert leaked > 0.3, f"CHANGED: {name} hides the future"
    assert masked == 0, name
PY
venv/bin/python hint.py
echo "as described: refused in training, accepted and not causal in evaluation"
