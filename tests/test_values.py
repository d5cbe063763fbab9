"""Any value at any door: a right answer or a line that names it, never torch's words or nonsense.

First the calls that somebody outside reported; then every public function, one argument replaced.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import matplotlib as mpl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import transformer as t
from lessonkit.analysis import bleu_comparison, significance
from lessonkit.analysis.noise_scale import estimate_gradient_noise
from lessonkit.charts.attention import draw_attention, draw_heads, draw_mask
from transformer.config import DataConfig
from transformer.data import tokenizers
from transformer.data.parallel import ParallelText
from transformer.data.tokenizers import WordTokenizer
from transformer.data.word_splitting import split_words
from transformer.decoding import beam_search, greedy_search
from transformer.evaluation import scores
from transformer.support.errors import UserError
from transformer.training.fast_loss import fast_label_smoothing_loss

VOCAB, WIDTH, HEADS = 13, 14, 2
torch.manual_seed(3)
CONFIG = t.ModelConfig(d_model=WIDTH, num_heads=HEADS, d_ff=11, num_layers=1, max_len=60)
MODEL = t.Transformer(CONFIG, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB).eval()
ATTENTION, FEED_FORWARD = t.MultiHeadAttention(WIDTH, HEADS, 7, 7), t.FeedForward(WIDTH, 11)
POST, PRE = t.Residual(WIDTH, 0.0, False), t.Residual(WIDTH, 0.0, True)
IDS = torch.tensor([[5, 7, 3], [6, 3, 0]])
HIDDEN, WEIGHTS = torch.randn(2, 3, WIDTH), torch.full((3, 3), 1 / 3)
LOGITS, MASK = torch.randn(2, 3, VOCAB), torch.ones(3, 3, dtype=torch.bool).tril()
HYPOTHESES, REFERENCES = ["a cat sits", "a dog"], [["a cat sat"], ["a dog", "the dog"]]
WORDS = WordTokenizer("tree", ["a", "cat", "dog", "sits"])
BPE = tokenizers.train(
    DataConfig(corpus="none", src_lang="en", tgt_lang="tree", vocab_size=270),
    HYPOTHESES,
    HYPOTHESES,
)[0]
EXAMPLES = [t.data.batches.Example([5, 6], [7]), t.data.batches.Example([4], [5, 5, 4])]
BATCH = t.collate(EXAMPLES)
RUNS = {"a": [1.0, 2.0, 4.0], "b": [2.0, 5.0]}


def axes() -> Any:
    """Return axes that nobody sees."""
    return mpl.figure.Figure().subplots()


# --- calls that somebody reported: each ended in torch's words or in nonsense --------------------

REPORTED: list[tuple[Callable[[], Any], str]] = [
    (lambda: MODEL(IDS + 9, IDS), "ids go from 9 to 16, and the vocabulary from 0 to 12"),
    (lambda: MODEL(IDS, IDS - 1), "ids go from -1 to 6"),
    (lambda: ATTENTION(HIDDEN[..., :8]), r"query .* \(2, 3, 8\): give .* \(any, any, 14\)"),
    (
        lambda: ATTENTION(HIDDEN, mask=MASK.float()),
        r"mask is float32 of .*give a boolean one, True",
    ),
    (lambda: ATTENTION(HIDDEN, mask=MASK.float(), return_weights=True), "mask is float32"),
    (
        lambda: ATTENTION(HIDDEN, mask=t.causal_mask(4)),
        r"\(1, 1, 4, 4\): give .* to \(2, 2, 3, 3\)",
    ),
    (lambda: MODEL(IDS, IDS[:1]), "src has 2 sentences and tgt_in 1: give as many"),
    (lambda: t.length_penalty(-6), "length is -6: give a whole number of 1 or more"),
    (lambda: t.length_penalty(1.5), "length is 1.5: give a whole number"),
    (lambda: t.learning_rate(3, 512, 4000, math.nan), "factor is nan: give a number above 0"),
    (lambda: t.learning_rate(3, 512, 4000, -1), "factor is -1: give a number"),
    (lambda: t.learning_rate(math.inf, 5, 4), "step is inf: give a whole number of 1"),
    (lambda: t.TokenBudgetBatches(EXAMPLES, math.nan), "batch_tokens is nan: give a whole number"),
    (lambda: t.bleu("abc", [["a"], ["b"], ["c"]]), "hypotheses is 'abc': give a list of texts"),
    (
        lambda: draw_attention(WEIGHTS * math.nan, *[["a"] * 3] * 2, axes()),
        "weights hold nan: give",
    ),
    (lambda: draw_heads(27 * WEIGHTS[None], *[["a"] * 3] * 2, "heads"), "weights hold 9: give"),
    (
        lambda: significance.difference_verdict(
            significance.ConfidenceInterval(math.nan, 1.0), 0.5
        ),
        "interval is ConfidenceInt",
    ),
    (lambda: significance.t_critical_value(math.nan), "degrees is nan: give"),
]


def test_what_was_reported_is_refused_in_a_line() -> None:
    for call, message in REPORTED:
        with pytest.raises(UserError, match=message):
            call()


def test_translators_doors(shipped: t.Translator) -> None:
    for sentences, message in (
        ([None], "one of sentences is None: give a text"),
        ({"a": 1}, r"sentences is {'a': 1}: give a list of texts"),
        (b"a dog", "sentences is b'a dog': give a list of texts"),
    ):
        with pytest.raises(UserError, match=message):
            shipped.translate(sentences)
    for device in ("cuda:99", "gpu", "meta"):
        with pytest.raises(UserError, match=rf"device is '?{device}'? \(.*give 'cpu', or one here"):
            t.Translator.load("demo-en-fr", device)


def test_with_ever_more_degrees_student_t_becomes_the_normal_distribution() -> None:
    for degrees in (1e6, 1.1e6, 1e15, 1e40, math.inf):
        assert significance.t_critical_value(degrees) == pytest.approx(1.96, abs=1e-4)
    assert 0 <= significance.difference_p_value([0.0, 1e-3] * 40_000, [5.0, 5.001] * 40_000) < 1e-9


# The smallest whole number that each call takes; one less, and the same as a fraction, are refused.
MINIMA: list[tuple[Callable[[Any], Any], int]] = [
    (lambda size: t.MultiHeadAttention(size, 1, 1, 1), 1),
    (lambda size: t.FeedForward(1, size), 1),
    (lambda size: t.Residual(size, 0.0, True), 1),
    (lambda size: t.Transformer(CONFIG, src_vocab_size=size, tgt_vocab_size=4), 4),
    (lambda length: t.sinusoidal_positions(length, 2), 0),
    (lambda start: MODEL.src_embedding(IDS, start), 0),
    (lambda length: t.causal_mask(length), 0),
    (lambda pad_id: t.padding_mask(IDS, pad_id), -(10**9)),
    (lambda size: beam_search(MODEL, IDS, beam_size=size, max_len=1), 1),
    (lambda length: beam_search(MODEL, IDS, extra_length=length, max_len=1), 0),
    (lambda length: beam_search(MODEL, IDS, max_len=length), 1),
]


def test_the_minimum_is_taken_and_no_less_nor_a_fraction() -> None:
    for call, minimum in MINIMA:
        call(minimum)
        for wrong in (minimum - 1, float(minimum)):
            with pytest.raises(UserError, match=r"is -?\d.*: give a whole number"):
                call(wrong)


# --- any value in any place -----------------------------------------------------------------------

Call = tuple[Callable[..., Any], Mapping[str, Any]]
CALLS: list[Call] = [
    (t.learning_rate, {"step": 3, "d_model": 5, "warmup_steps": 4, "factor": 0.5}),
    (t.length_penalty, {"length": 4, "alpha": 0.5}),
    (t.padding_mask, {"ids": IDS, "pad_id": 0}),
    (t.causal_mask, {"q_len": 2, "k_len": 5}),
    (t.sinusoidal_positions, {"length": 5, "d_model": 6}),
    (t.scaled_dot_product_attention,
     {"query": HIDDEN, "key": HIDDEN, "value": HIDDEN, "mask": MASK}),
    (ATTENTION, {"query": HIDDEN, "memory": HIDDEN, "mask": MASK}),
    (ATTENTION, {"query": HIDDEN, "mask": MASK, "return_weights": True}),
    (t.MultiHeadAttention, {"d_model": 4, "num_heads": 2, "d_k": 3, "d_v": 5, "dropout": 0.1}),
    (t.FeedForward, {"d_model": 4, "d_ff": 2, "dropout": 0.1}),
    (FEED_FORWARD, {"hidden": HIDDEN}),
    (lambda hidden: PRE(hidden, torch.tanh), {"hidden": HIDDEN}),
    (lambda hidden, output: POST(hidden, lambda _: (output, None))[0],
     {"hidden": HIDDEN, "output": HIDDEN}),
    (MODEL.src_embedding, {"ids": IDS, "start": 2}),
    (MODEL, {"src": IDS, "tgt_in": IDS}),
    (MODEL.attention_maps, {"src": IDS, "tgt_in": IDS}),
    (MODEL.encode, {"src": IDS, "src_mask": t.padding_mask(IDS)}),
    (lambda **sizes: t.Transformer(CONFIG, **sizes), {"src_vocab_size": 9, "tgt_vocab_size": 9}),
    (greedy_search, {"model": MODEL, "src": IDS, "extra_length": 2, "max_len": 4}),
    (beam_search, {"model": MODEL, "src": IDS, "beam_size": 2, "alpha": 0.5, "max_len": 3}),
    *(
        (loss, {"logits": LOGITS, "targets": IDS, "smoothing": 0.1, "pad_id": 0})
        for loss in (t.label_smoothing_loss, fast_label_smoothing_loss)
    ),
    (t.chrf_plus_plus, {"hypotheses": HYPOTHESES, "references": REFERENCES}),
    (scores.count_run_on_translations, {"hypotheses": HYPOTHESES, "references": REFERENCES}),
    (scores.bleu_tokenised_lowercased,
     {"hypotheses": HYPOTHESES, "references": REFERENCES, "lang": "tree"}),
    (t.parse_f1, {"trees": ["(S a )S"], "gold": ["(S a )S"]}),
    (t.count_tree_phrases, {"tree": "(S a )S"}),
    (bleu_comparison.sentence_bleu_counts, {"hypotheses": HYPOTHESES, "references": REFERENCES}),
    (significance.t_critical_value, {"degrees": 3, "level": 0.9}),
    (significance.difference_verdict,
     {"interval": significance.ConfidenceInterval(-1.0, 1.0), "worth": 0.5}),
    (significance.mean_interval, {"runs": RUNS["a"]}),
    (significance.one_sided_t_test, {"runs": RUNS["a"], "goal": 2.0}),
    (significance.difference_interval, {"base": RUNS["a"], "other": RUNS["b"]}),
    (significance.difference_p_value, {"base": RUNS["a"], "other": RUNS["b"]}),
    (significance.margin_of_error, {"scores": RUNS, "runs": 3}),
    (t.collate, {"examples": EXAMPLES}),
    (t.collate_sources, {"sources": [[4], [5, 6]]}),
    (t.shard, {"batch": BATCH, "rank": 0, "world_size": 1}),
    (t.micro_batches, {"batch": BATCH, "max_tokens": 9}),
    (t.TokenBudgetBatches, {"examples": EXAMPLES, "batch_tokens": 9, "batch_sentences": 2}),
    (ParallelText, {"src_lang": "en", "tgt_lang": "fr", "src": HYPOTHESES, "tgt": HYPOTHESES}),
    (t.group_pairs, {"pairs": [("a", "b"), ("c", "b")]}),
    (t.tokenize_for_alignment, {"text": "a, b"}),
    (split_words, {"lang": "tree", "text": "a b"}),
    *((each.encode, {"text": "a cat"}) for each in (WORDS, BPE)),
    *((each.tokens, {"text": "a cat"}) for each in (WORDS, BPE)),
    *((each.encode_all, {"texts": HYPOTHESES}) for each in (WORDS, BPE)),
    *((each.decode, {"ids": [4, 5]}) for each in (WORDS, BPE)),
    *((each.ids_to_pieces, {"ids": [4, 5]}) for each in (WORDS, BPE)),
    (lambda **given: draw_attention(ax=axes(), **given),
     {"weights": WEIGHTS, "queries": ["a"] * 3, "keys": ["b"] * 3}),
    (lambda **given: draw_mask(ax=axes(), **given),
     {"mask": MASK, "queries": ["a"] * 3, "keys": ["b"] * 3}),
    (estimate_gradient_noise, {"model": MODEL, "batches": [BATCH, BATCH]}),
    (t.find_recipe, {"name": "demo"}),
    (lambda folder: t.find_model_folder(folder), {"folder": "demo-en-fr"}),
]  # fmt: skip
NUMBERS = [
    -(10**400), -3, -1, 0, 1, 2, 5, 19, 10**9, 10**400, 0.5, 2.5, 1e-300, 1e300, math.nan, math.inf,
]  # fmt: skip
TENSORS = [
    IDS, IDS + 9, IDS - 1, IDS.float(), IDS[0], IDS[:1], IDS[:0], IDS[:, :0], torch.tensor(3),
    HIDDEN, HIDDEN.double(), HIDDEN[:1], HIDDEN[..., :5], HIDDEN[0], LOGITS, MASK, MASK[:2],
    MASK.float(), WEIGHTS * 9, WEIGHTS * math.nan, torch.zeros(2, 3, dtype=torch.complex64),
]  # fmt: skip
PLAIN_VALUES = st.sampled_from(
    [*NUMBERS, -math.inf, True, None, "", "a", b"a", object(), "\ud800", "(S"]
)
ANY_VALUE = st.one_of(
    PLAIN_VALUES,
    st.sampled_from(TENSORS),
    st.lists(PLAIN_VALUES, max_size=3),
    st.lists(st.lists(PLAIN_VALUES, max_size=2), max_size=2),
    st.dictionaries(st.sampled_from(["a", "b"]), PLAIN_VALUES, max_size=2),
    st.tuples(PLAIN_VALUES, PLAIN_VALUES),
)

NOT_REPLACED = {"model", "batch", "return_weights"}  # no plain values, or any truth value


def is_finite(result: Any) -> bool:
    """Return whether every number in a result is a real and finite one."""
    if isinstance(result, Tensor):
        return not result.is_floating_point() or bool(result.isfinite().all())
    if isinstance(result, float | complex):
        return isinstance(result, float) and math.isfinite(result)
    if isinstance(result, Mapping):
        return all(is_finite(value) for value in result.values())
    return not isinstance(result, list | tuple) or all(is_finite(value) for value in result)


MAX_MESSAGE_LENGTH = 700  # the names of all recipes are 500


def call_with(call: Callable[..., Any], good: Mapping[str, Any], name: str, odd: Any) -> None:
    """Replace one argument: the result is made of numbers, or a UserError of one line."""
    message, result = "", None
    try:
        result = call(**{**good, name: odd})
    except UserError as error:
        message = str(error)
    assert len(message) < MAX_MESSAGE_LENGTH, (call, name, odd, message)
    assert is_finite(result), (call, name, odd, result)


def test_any_number_in_every_place_is_refused_or_answered() -> None:
    for call, good in CALLS:
        for name in good.keys() - NOT_REPLACED:
            for odd in NUMBERS:
                call_with(call, good, name, odd)


@pytest.mark.slow
@settings(max_examples=1500, derandomize=True, deadline=None, database=None)
@given(st.data())
def test_any_value_in_any_place_is_refused_or_answered(data: st.DataObject) -> None:
    call_with_any(data)


def call_with_any(data: st.DataObject) -> None:
    call, good = data.draw(st.sampled_from(CALLS))
    name = data.draw(st.sampled_from([key for key in good if key not in NOT_REPLACED]))
    call_with(call, good, name, data.draw(ANY_VALUE))


@pytest.mark.weekly
@settings(max_examples=40_000, derandomize=True, deadline=None, database=None)
@given(st.data())
def test_many_more_values(data: st.DataObject) -> None:
    call_with_any(data)
