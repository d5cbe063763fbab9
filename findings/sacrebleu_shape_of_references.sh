#!/usr/bin/env bash
# sacreBLEU 2.6.0.
#
# corpus_bleu, corpus_chrf and the like want one list for each set of references (all first ones,
# all second ones). Two mistakes give a score and no word:
# 1. One list for each sentence. Only the first sentence is then scored, with every sentence's
#    reference as one of its own; the others are left out.
# 2. More references than translations, as after a run that was cut short: the rest is left out, and
#    the signature does not say how many sentences were counted.
#
# Seen: three sentences of which one is right score 48.92; the wrong way round 100.00. The first two
# against three references score 53.24, as if two had been asked for.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check sacrebleu==2.6.0
cat > shape.py <<'PY'
from sacrebleu.metrics import BLEU, CHRF

translations = ["the cat sleeps on the mat .", "a dog runs in the park .", "it rains ."]
references = ["the cat sleeps on the mat .", "the child eats bread now .", "we go home ."]
by_sentence = [[reference] for reference in references]
for metric, right in ((BLEU(), 48.92), (CHRF(), 49.23)):
    scores = [
        round(metric.corpus_score(translations, each).score, 2)
        for each in ([references], by_sentence)
    ]
    print(f"{type(metric).__name__}: the right way {scores[0]:.2f}, the wrong way {scores[1]:.2f}")
    assert scores == [right, 100.0], "CHANGED"
bleu = BLEU()
short = bleu.corpus_score(translations[:2], [references])
same = BLEU().corpus_score(translations[:2], [references[:2]])
print(f"two translations, three references: {short.score:.2f} {bleu.get_signature()}")
assert round(short.score, 2) == 53.24, "CHANGED"
assert (short.score, short.ref_len) == (same.score, same.ref_len)
PY
venv/bin/python shape.py 2> said.txt || { cat said.txt && exit 1; }
test ! -s said.txt
echo "as described: neither mistake is noticed"
