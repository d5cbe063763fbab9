#!/usr/bin/env bash
# CTranslate2 4.8.5, on a CPU, with a small network of random weights.
#
# What Translator.translate_batch does by default and does not say in its result:
# 1. A hypothesis of n tokens, the end mark included, and log probability S scores S / n^alpha for
#    length_penalty alpha. "Attention Is All You Need" divides by ((5 + n) / 6)^alpha (Wu et al.
#    2016): the same alpha ranks otherwise.
# 2. min_decoding_length is 1, which takes the end mark out of the first step's softmax. So S lacks
#    -log(1 - p) of a probability p that the model gave to ending at once; score_batch has it.
# 3. An empty source gives an empty hypothesis of score 0.0, which no sentence reaches.
# 4. max_decoding_length is 256: what has not ended is cut off there, and no field says so.
# 5. At that limit the prefixes that were cut off compete with the hypotheses that have ended, by the
#    same score. Those may all be lost: a beam of 4 returns 4 prefixes, where patience=2 with twice
#    as many hypotheses also returns a translation with its end mark. Only return_end_token=True
#    tells them apart.
#
# Seen: scores off by -log(1 - p) / n^alpha to five decimals, exact with min_decoding_length=0; 0.0;
# 256 tokens without an end; 0 of 4 hypotheses with an end mark, and 1 of 5.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check ctranslate2==4.8.5 numpy==2.4.6
cat > scores.py <<'PY'
import math

import ctranslate2
import numpy as np
from ctranslate2.specs.transformer_spec import TransformerSpec

TYPES, WIDTH, HEADS, INNER = 13, 16, 2, 32
VOCABULARY = ["<unk>", "<s>", "</s>", *(f"w{number}" for number in range(TYPES - 3))]


def build(folder, end_bias):
    rng = np.random.default_rng(0)

    def draw(*shape):
        return rng.normal(0, 0.3, shape).astype(np.float32)

    def set_linear(layer, out_width, in_width):
        layer.weight, layer.bias = draw(out_width, in_width), np.zeros(out_width, np.float32)

    def set_norm(norm):
        norm.gamma, norm.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    spec = TransformerSpec.from_config(1, HEADS)
    for stack, embedding in (
        (spec.encoder, spec.encoder.embeddings[0]),
        (spec.decoder, spec.decoder.embeddings),
    ):
        stack.scale_embeddings = True
        embedding.weight = draw(TYPES, WIDTH)
        stack.position_encodings.encodings = draw(512, WIDTH)
        set_norm(stack.layer_norm)
        for layer in stack.layer:
            set_linear(layer.self_attention.linear[0], 3 * WIDTH, WIDTH)
            set_linear(layer.self_attention.linear[1], WIDTH, WIDTH)
            set_norm(layer.self_attention.layer_norm)
            if stack is spec.decoder:
                set_linear(layer.attention.linear[0], WIDTH, WIDTH)
                set_linear(layer.attention.linear[1], 2 * WIDTH, WIDTH)
                set_linear(layer.attention.linear[2], WIDTH, WIDTH)
                set_norm(layer.attention.layer_norm)
            set_linear(layer.ffn.linear_0, INNER, WIDTH)
            set_linear(layer.ffn.linear_1, WIDTH, INNER)
            set_norm(layer.ffn.layer_norm)
    set_linear(spec.decoder.projection, TYPES, WIDTH)
    spec.decoder.projection.bias[VOCABULARY.index("</s>")] = end_bias
    spec.register_source_vocabulary(VOCABULARY)
    spec.register_target_vocabulary(VOCABULARY)
    spec.validate()
    spec.optimize()
    spec.save(folder)
    return ctranslate2.Translator(folder, intra_threads=1)


translator, source = build("model", end_bias=1.0), ["w1", "w2", "w3", "</s>"]


def log_probability(tokens):
    return sum(translator.score_batch([source], [tokens])[0].log_probs)


first = translator.score_batch([source], [[]])[0].log_probs[0]
lacking = -math.log(1 - math.exp(first))
print(f"p(end) of the first step {math.exp(first):.3f}")
for alpha in (0.6, 1.0, 2.0):
    for least, expected_offset in ((1, lacking), (0, 0.0)):
        (result,) = translator.translate_batch(
            [source],
            beam_size=4,
            num_hypotheses=4,
            length_penalty=alpha,
            return_scores=True,
            **({} if least else {"min_decoding_length": 0}),
        )
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            total, n = log_probability(tokens), len(tokens) + 1
            expected = (total + expected_offset) / n**alpha
            assert math.isclose(score, expected, abs_tol=2e-5), f"CHANGED: {score}, not {expected}"
            assert n == 1 or abs(score - total / ((5 + n) / 6) ** alpha) > 1e-3
(empty,) = translator.translate_batch([[]], return_scores=True)
print("an empty source:", empty.hypotheses, empty.scores)
assert (empty.hypotheses, empty.scores) == ([[]], [0.0]), "CHANGED"
(cut,) = build("endless", end_bias=-1e4).translate_batch([["w1", "</s>"]], return_scores=True)
print("a translation without end:", len(cut.hypotheses[0]), "tokens")
assert len(cut.hypotheses[0]) == 256, "CHANGED: another limit"
assert not [name for name in dir(cut) if "finish" in name or "trunc" in name], "CHANGED: a field"

at_limit = build("at_limit", end_bias=0.0)
options = {"beam_size": 4, "min_decoding_length": 0, "max_decoding_length": 3}
with_end = []
for wider in ({"num_hypotheses": 4}, {"num_hypotheses": 8, "patience": 2}):
    (result,) = at_limit.translate_batch(
        [["w0", "w0", "</s>"]], return_end_token=True, **options, **wider
    )
    ended = sum(tokens[-1] == "</s>" for tokens in result.hypotheses)
    with_end.append((ended, len(result.hypotheses)))
print("with an end mark, of all hypotheses:", with_end)
assert with_end == [(0, 4), (1, 5)], "CHANGED: which hypotheses return at the limit"
PY
mkdir model endless at_limit
venv/bin/python scores.py
echo "as described: S / n^alpha, less the first end mark; 0.0 for nothing; 256 tokens; prefixes win"
