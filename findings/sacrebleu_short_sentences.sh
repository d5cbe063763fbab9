#!/usr/bin/env bash
# sacreBLEU 2.6.0.
#
# A corpus whose sentences are all shorter than four tokens holds no 4-gram, and scores 0.0 however
# right it is, with each way of smoothing but add-k; there is no warning. sentence_bleu scores each
# of its sentences 100, because it counts the orders that there are (effective_order), which BLEU
# leaves off for a corpus.
#
# Seen: a perfect corpus of three-token sentences scores 0.00 with exp, floor and none, 100.00 with
# add-k and with effective_order=True.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check sacrebleu==2.6.0
cat > short.py <<'PY'
from sacrebleu.metrics import BLEU

sentences = ["the cat sleeps", "a dog runs"]
scores = {
    method: round(BLEU(smooth_method=method).corpus_score(sentences, [sentences]).score, 2)
    for method in ("exp", "floor", "none", "add-k")
}
scores["effective_order"] = round(
    BLEU(effective_order=True).corpus_score(sentences, [sentences]).score, 2
)
print(scores)
expected = {"exp": 0.0, "floor": 0.0, "none": 0.0, "add-k": 100.0, "effective_order": 100.0}
assert scores == expected, "CHANGED"
PY
venv/bin/python short.py 2> said.txt || { cat said.txt && exit 1; }
test ! -s said.txt
echo "as described: right and scored 0"
