#!/usr/bin/env bash
# torchtext 0.6.0, with torch 2.13.0.
#
# BLEU's brevity penalty takes the reference whose length is closest. Where two are equally close,
# bleu_score takes whichever stands first; sacreBLEU, as the NIST script, takes the shorter. So the
# order of the references changes the score.
#
# Seen: ten tokens with references of nine and eleven score 1.0 in one order and 0.905 in the other;
# sacreBLEU 2.6.0 has no penalty in either.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --no-compile --disable-pip-version-check torchtext==0.6.0 torch==2.13.0 numpy==2.4.6 sacrebleu==2.6.0 setuptools
cat > closest.py <<'PY'
import sacrebleu
from torchtext.data.metrics import bleu_score

nine, ten, eleven = (list("abcdefghijk"[:length]) for length in (9, 10, 11))
for order, expected in (([nine, eleven], 1.0), ([eleven, nine], 0.905)):
    score = bleu_score([ten], [order])
    texts = [[" ".join(reference)] for reference in order]
    penalty = sacrebleu.corpus_bleu([" ".join(ten)], texts, tokenize="none").bp
    print(f"{len(order[0])} first: torchtext {score:.3f}, sacreBLEU's penalty {penalty:.3f}")
    assert round(score, 3) == expected, "CHANGED: the order does not matter"
    assert penalty == 1.0
PY
venv/bin/python closest.py
echo "as described: of equally close references torchtext takes the first"
