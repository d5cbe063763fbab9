#!/usr/bin/env bash
# transformers 5.23.0, with torch 2.13.0 on a CPU.
#
# generate(num_beams, length_penalty=alpha) ranks by S / n^alpha: S is a log probability, n counts the
# end mark. "Attention Is All You Need" divides by ((5 + n) / 6)^alpha (Wu et al. 2016). The library's
# penalty grows faster with the length, most of all for short sentences, so that the paper's
# alpha of 0.6 chooses longer translations there.
#
# Seen: the scores of a small Marian with random weights are S / n^0.6 to four decimals; of its own
# four hypotheses the paper's penalty chooses another for 15 of 60 sources, and never a longer one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6
cat > penalty.py <<'PY'
import sys

import torch
from transformers import MarianConfig, MarianMTModel

ALPHA, SOURCES, BEAMS, PAD, START, END = 0.6, 60, 4, 0, 1, 2
torch.manual_seed(2)
sizes = {"vocab_size": 53, "d_model": 16, "max_position_embeddings": 64, "init_std": 0.3}
for side in ("encoder", "decoder"):
    sizes |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
ids = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
model = MarianMTModel(
    MarianConfig(**sizes, **ids, decoder_start_token_id=START, forced_eos_token_id=None)
).eval()
model.final_logits_bias[:, END] = 1.0
src = torch.randint(3, 53, (SOURCES, 7))
found = model.generate(
    input_ids=src,
    num_beams=BEAMS,
    num_return_sequences=BEAMS,
    max_length=40,
    length_penalty=ALPHA,
    output_scores=True,
    return_dict_in_generate=True,
)


def log_probability_and_length(row, tokens):
    tokens = tokens[1:]
    length = tokens.index(END) + 1 if END in tokens else len(tokens)
    tokens = tokens[:length]
    decoded = torch.tensor([[START, *tokens[:-1]]])
    with torch.no_grad():
        logits = model(input_ids=src[row : row + 1], decoder_input_ids=decoded).logits[0]
    return sum(float(logits.log_softmax(-1)[i, token]) for i, token in enumerate(tokens)), length


def best(hypotheses, penalty):
    return max(range(BEAMS), key=lambda place: hypotheses[place][0] / penalty(hypotheses[place][1]))


others = longer = 0
for row in range(SOURCES):
    places = range(BEAMS * row, BEAMS * (row + 1))
    hypotheses = [log_probability_and_length(row, found.sequences[i].tolist()) for i in places]
    for (total, n), i in zip(hypotheses, places, strict=True):
        if abs(total / n**ALPHA - float(found.sequences_scores[i])) > 1e-4:
            sys.exit("CHANGED: a score is not S / n^alpha")
    library = best(hypotheses, lambda n: n**ALPHA)
    paper = best(hypotheses, lambda n: ((5 + n) / 6) ** ALPHA)
    others += paper != library
    longer += hypotheses[paper][1] > hypotheses[library][1]
print(f"all scores are S / n^{ALPHA}; the paper chooses otherwise for {others} of {SOURCES} sources")
assert others > SOURCES / 10 and not longer, (others, longer)
PY
OMP_NUM_THREADS=1 venv/bin/python penalty.py
echo "as described: S / n^alpha, which is not the paper's penalty"
