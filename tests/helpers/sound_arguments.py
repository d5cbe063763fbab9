"""Sound arguments for every public function, by the parameter's name or by its annotation.

What is made here is small, and made once; what a call may change is made anew for each.
"""

import base64
import tempfile
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

import attention_laws
import transformer as t
from lessonkit.analysis.bleu_comparison import sentence_bleu_counts
from lessonkit.analysis.gender_patching import gender_pairs
from lessonkit.analysis.heads import Head
from lessonkit.analysis.roles import measure_roles
from lessonkit.analysis.roofline import Machine
from lessonkit.charts.all_reduce import TrainingStepCost
from lessonkit.charts.batches import TokenGrid
from lessonkit.charts.renderer import to_mime_bundle
from lessonkit.charts.schedule import schedule_explorer
from lessonkit.museum.sound import sound_adapter
from tests.helpers import TINY
from transformer.config import DataConfig, RecurrentConfig
from transformer.data.batches import Example
from transformer.data.tokenizers import Tokenizer
from transformer.decoding import EncoderDecoder
from transformer.models.folder import ModelDescription
from transformer.training.checkpoint import TrainingState

VOCAB_SIZE, WIDTH, NUM_HEADS, HEAD_WIDTH = 13, 14, 2, 7
DATA = DataConfig(corpus="none", src_lang="en", tgt_lang="tree", vocab_size=270)
# The smallest picture: one white pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buVgAAAABJRU5ErkJggg=="
CONFIG = t.ModelConfig(d_model=WIDTH, num_heads=NUM_HEADS, d_ff=11, num_layers=1, max_len=60)
TRAINING = t.TrainingConfig(steps=2, batch_tokens=40, report_every=1, validate_every=2)
IDS = torch.tensor([[5, 7, 3], [6, 3, 0]])
HIDDEN = torch.linspace(-1, 1, 2 * 3 * WIDTH).reshape(2, 3, WIDTH)
HEADS = HIDDEN.reshape(2, 3, NUM_HEADS, HEAD_WIDTH).transpose(1, 2)
SRC_MASK = t.padding_mask(IDS)
EXAMPLES = [Example([5, 6], [7]), Example([4], [5, 5, 4])]
SENTENCES = ["The cat is sleeping.", "A dog is small."]
TRANSLATIONS = ["Le chat dort.", "Un chien est petit."]


def network() -> t.Transformer:
    """Return a network of one layer, the same each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return t.Transformer(CONFIG, src_vocab_size=VOCAB_SIZE, tgt_vocab_size=VOCAB_SIZE).eval()


@cache
def translator() -> t.Translator:
    """Return the shipped demo, from English to French."""
    return t.Translator.load("demo-en-fr")


def text() -> t.ParallelText:
    """Return two sentence pairs."""
    return t.ParallelText("en", "fr", SENTENCES, TRANSLATIONS)


@cache
def means() -> Mapping[Any, Tensor]:
    """Return the mean output of each of the demo's heads."""
    from lessonkit import mean_head_outputs

    return mean_head_outputs(translator(), SENTENCES)


@cache
def bpe() -> Tokenizer:
    """Return a tokenizer of a few merges."""
    return t.tokenizers.train(DATA, SENTENCES, SENTENCES)[0]


def batch() -> t.Batch:
    """Return a batch of two pairs."""
    return t.collate(EXAMPLES)


def state() -> TrainingState:
    """Return the state that a run begins with."""
    return t.new_state(network().train(), TRAINING)


def axes() -> Any:
    """Return axes that nobody sees."""
    return Figure().subplots()


@cache
def tree() -> Any:
    """Return all that a search looked at."""
    from lessonkit import grow_beam_tree

    return grow_beam_tree(network(), IDS[:1], beam_size=2, max_len=3)


@cache
def trace() -> Any:
    """Return a trace of a translation."""
    from lessonkit import trace_translation

    return trace_translation(translator())


def record(name: str) -> Any:
    """Return a recorded run."""
    from lessonkit import load_result

    return load_result(name)


@cache
def forms() -> Mapping[str, Any]:
    """Return a chart in every form that is stored."""
    return to_mime_bundle(schedule_explorer().to_dict())[0]


@cache
def patched_pairs() -> Sequence[Any]:
    """Return a sentence, and two in which its first noun is another."""
    return gender_pairs(translator(), t.corpora.load("embedded", "validation", "en", "fr"))[:1]


def law_results() -> tuple[attention_laws.LawResult, ...]:
    """Return what was found about one law."""
    broken = attention_laws.Verdict.BROKEN
    return (attention_laws.LawResult("a", "says", broken, "seen", "means", "look", 0.5),)


# By the parameter's name, or by the function's and the parameter's where one name stands for
# different things.
BY_NAME: dict[str, Callable[[], Any]] = {
    "alpha": lambda: 0.5,
    "attention": lambda: cached_attention(),
    "ax": axes,
    "axes": lambda: Figure().subplots(2, 3),
    "base": lambda: [1.0, 2.0, 4.0],
    "batch": batch,
    "batch_tokens": lambda: 9,
    "batches": lambda: [batch(), t.collate(EXAMPLES[::-1])],
    "batch_explorer.batches": lambda: {"by length": [[3, 5], [4]], "as they come": [[5, 3], [4]]},
    "train.batches": lambda: t.TokenBudgetBatches(EXAMPLES, 40),
    "beam_size": lambda: 2,
    "carriers": lambda: list(means())[:1],
    "compared": lambda: [("RMSNorm", "the paper's")],
    "corpus": lambda: "embedded",
    "count": lambda: 4,
    "counts": lambda: sentence_bleu_counts(SENTENCES, [[s] for s in SENTENCES]).sum(0),
    "d": lambda: 6,
    "d_ff": lambda: 11,
    "d_k": lambda: HEAD_WIDTH,
    "d_v": lambda: HEAD_WIDTH,
    "d_model": lambda: WIDTH,
    "degrees": lambda: 3,
    "dimensions": lambda: [0, 3],
    "domain": lambda: (-5.0, 5.0),
    "dropout": lambda: 0.1,
    "scaled_dot_product_attention.dropout": lambda: nn.Dropout(0.1),
    "edges": lambda: {},
    "AblationSpec.edges": lambda: {},
    "examples": lambda: EXAMPLES,
    "epoch": lambda: 0,
    "example": lambda: EXAMPLES[0],
    "extra_length": lambda: 2,
    "find_corpus.name": lambda: "embedded",
    "fetch.name": lambda: "embedded",
    "is_intact_by_file.name": lambda: "embedded",
    "find_recipe.name": lambda: "demo",
    "load_result.name": lambda: "demo",
    "make_layer.name": lambda: "convolution",
    "lesson_run_folder.name": lambda: "mine",
    "figure": lambda: axes().figure,
    "flops": lambda: 1e12,
    "folder": lambda: t.find_model_folder("demo-en-fr"),
    "forms": lambda: dict(forms()),
    "metadata": lambda: {},
    "picture": lambda: base64.b64decode(PNG),
    "spec": lambda: schedule_explorer().to_dict(),
    "framed": lambda: torch.tensor([[True, False], [False, False]]),
    "functions": lambda: {},
    "any_name": lambda: None,
    "labels": lambda: "post_norm_before_residual",
    "goal": lambda: 2.0,
    "gold": lambda: ["(S a )S", "(S b )S"],
    "alignment_error_rate.gold": lambda: [frozenset({(0, 0)})],
    "grid": lambda: TokenGrid("source", [["a", "<eos>"]], "#0072B2"),
    "hidden": lambda: HIDDEN,
    "highest": lambda: 3.0,
    "hours": lambda: 84.0,
    "hypotheses": lambda: SENTENCES,
    "first": lambda: SENTENCES,
    "first_counts": lambda: sentence_bleu_counts(SENTENCES, [[s] for s in SENTENCES]),
    "second_counts": lambda: sentence_bleu_counts(SENTENCES[::-1], [[s] for s in SENTENCES]),
    "second": lambda: SENTENCES[::-1],
    "ids": lambda: IDS,
    "decode.ids": lambda: [4, 5],
    "ids_to_pieces.ids": lambda: [4, 5],
    "interval": lambda: t_confidence_interval(),
    "k": lambda: 2,
    "k_len": lambda: 5,
    "key": lambda: HEADS,
    "keys": lambda: ["a", "b", "c"],
    "lang": lambda: "en",
    "src_lang": lambda: "en",
    "tgt_lang": lambda: "fr",
    "layer": lambda: make_layer(),
    "laws": lambda: [],
    "languages": lambda: ("en", "fr"),
    "length": lambda: 5,
    "lengths": lambda: [(20, 31), (7, 5), (41, 40)],
    "lines": lambda: {"ours": [(1, 5.0), (2, 4.0)]},
    "link": lambda: 1e9,
    "links": lambda: [frozenset({(0, 0)})],
    "draw_alignment.links": lambda: {(0, 0), (1, 2)},
    "log": lambda: record("demo")["log"],
    "log_probs": lambda: [-0.5, -1.0, -3.0],
    "logits": lambda: torch.linspace(-1, 1, 2 * 3 * VOCAB_SIZE).reshape(2, 3, VOCAB_SIZE),
    "machines": lambda: 8,
    "mask": lambda: SRC_MASK,
    "draw_mask.mask": lambda: t.causal_mask(3)[0, 0],
    "max_len": lambda: 4,
    "max_tokens": lambda: 9,
    "means": means,
    "memory": lambda: HIDDEN,
    "merges": lambda: [("a", "b")],
    "machine": lambda: Machine("one", 1e12, 1e11),
    "stack": lambda: "cross",
    "head": lambda: 2,
    "Head.layer": lambda: 2,
    "trace_translation.head": lambda: Head("cross", 2, 2),
    "count_parameters.model": network,
    "find_model_folder.model": lambda: "demo-en-fr",
    "forward_flops.model": lambda: CONFIG,
    "training_step_flops.model": lambda: CONFIG,
    "models": lambda: {"base": TrainingStepCost(100, 1000)},
    "n": lambda: 3,
    "norms": lambda: {"ours": [1.0, 2.0]},
    "num_heads": lambda: NUM_HEADS,
    "number": lambda: 0,
    "operations_per_byte": lambda: 3.0,
    "other": lambda: [2.0, 5.0],
    "ablation_explorer.other": lambda: "A dog is sleeping.",
    "out": lambda: Path(tempfile.mkdtemp(dir=".")),
    "outputs": lambda: {head: torch.zeros(16) for head in list(means())[:1]},
    "p_values": lambda: [0.03, 0.2, 0.01],
    "draw_holm.p_values": lambda: {"a": 0.03, "b": 0.2},
    "differences": lambda: [-1.5, 0.5, 2.0],
    "measure": lambda: "BLEU",
    "measured": lambda: 1.5,
    "draw_ngram_matches.output": lambda: ["a", "dog"],
    "draw_ngram_matches.reference": lambda: ["the", "dog"],
    "pad_id": lambda: 0,
    "pair": lambda: 2,
    "pairs": lambda: [("a", "b"), ("c", "b")],
    "count_patched_articles.pairs": lambda: list(patched_pairs()),
    "parameters": lambda: 10**6,
    "part": lambda: "text",
    "path": lambda: t.find_model_folder("demo-en-fr") / "model.safetensors",
    "load.path": lambda: t.find_model_folder("demo-en-fr") / "src_tokenizer.json",
    "read_log.path": lambda: Path("log.jsonl"),
    "plan": lambda: [[0], [1]],
    "position": lambda: 2,
    "prefix": lambda: (5, 6),
    "q_len": lambda: 3,
    "queries": lambda: ["a", "b", "c"],
    "query": lambda: HIDDEN,
    "scaled_dot_product_attention.query": lambda: HEADS,
    "ablation_explorer.query": lambda: 0,
    "heads_explorer.query": lambda: 1,
    "rank": lambda: 0,
    "rate": lambda: 1e-3,
    "readings": lambda: {"beam": {"base": [30.0, 31.0], "ours": [32.0, 33.5]}},
    "recipe": lambda: t.find_recipe("demo").override(TINY | {"steps": 1}),
    "load_runs.recipe": lambda: "multi30k-de-en",
    "record": lambda: record("experiments/faults"),
    "describe_run.record": lambda: record("demo"),
    "draw_head_ablations.record": lambda: record("heads/demo-en-fr"),
    "references": lambda: [["The cat sleeps."], ["A dog is small.", "The dog is small."]],
    "removals": lambda: record("heads/demo-en-fr"),
    "removed": lambda: list(means())[:1],
    "roles": lambda: record("roles/demo-en-fr"),
    "rows": lambda: torch.tensor([1, 0]),
    "select_rows.rows": lambda: slice(0, 1),
    "runs": lambda: [1.0, 2.0, 4.0],
    "compare_variants.runs": lambda: record("experiments/modern")["runs"],
    "margin_of_error.runs": lambda: 3,
    "measure_values.runs": lambda: record("experiments/modern")["runs"][:2],
    "power_explorer.runs": lambda: 3,
    "scores": lambda: {"a": [1.0, 2.0, 4.0], "b": [2.0, 5.0]},
    "script": lambda: "print('ok')",
    "sentence": lambda: "The cat is sleeping.",
    "sentences": lambda: SENTENCES,
    "forward_flops.sentences": lambda: 2,
    "training_step_flops.sentences": lambda: 2,
    "measure_roles.sentences": lambda: t.embedded.sentences("validation")[:2],
    "sliders": lambda: {},
    "smoothing": lambda: 0.1,
    "sources": lambda: [[4], [5, 6]],
    "translate_from_memory.sources": lambda: SENTENCES,
    "train_src": lambda: SENTENCES,
    "train_tgt": lambda: TRANSLATIONS,
    "split": lambda: "validation",
    "src": lambda: IDS,
    "grow_beam_tree.src": lambda: IDS[:1],
    "ParallelText.src": lambda: SENTENCES,
    "ParallelText.tgt": lambda: TRANSLATIONS,
    "train.src": lambda: SENTENCES,
    "train.tgt": lambda: TRANSLATIONS,
    "word_attention.src": lambda: SENTENCES[0],
    "word_attention.tgt": lambda: TRANSLATIONS[0],
    "src_len": lambda: 3,
    "tgt_len": lambda: 5,
    "src_mask": lambda: SRC_MASK,
    "src_tokenizer": bpe,
    "tgt_tokenizer": bpe,
    "src_tokens": lambda: ["a", "b", "c"],
    "tgt_tokens": lambda: ["d", "e", "f"],
    "src_vocab_size": lambda: VOCAB_SIZE,
    "tgt_vocab_size": lambda: VOCAB_SIZE,
    "src_words": lambda: 3,
    "tgt_words": lambda: 5,
    "start": lambda: 0,
    "CachedDecoder.start": lambda: lambda src: {},
    "Report.lines": law_results,
    "starts": lambda: [0, 3],
    "step": lambda: 3,
    "operation_time_shares.step": lambda: lambda: HIDDEN @ HIDDEN.mT,
    "stop_after": lambda: 1,
    "sublayer": lambda: torch.tanh,
    "table": lambda: t.sinusoidal_positions(9, 8),
    "targets": lambda: IDS,
    "text": text,
    "tokenize_for_alignment.text": lambda: "a, b",
    "split_words.text": lambda: "a b",
    "encode.text": lambda: "a b",
    "tokens.text": lambda: "a b",
    "texts": lambda: SENTENCES,
    "tgt_in": lambda: IDS,
    "tgt_mask": lambda: t.causal_mask(3),
    "tgt_out": lambda: IDS,
    "title": lambda: "weights",
    "token": lambda: str,
    "ablation_explorer.token": lambda: 0,
    "tokens": lambda: ["a", "b", "c"],
    "arithmetic_intensity.tokens": lambda: 4,
    "matmul_flops.tokens": lambda: 4,
    "measure_matmul_seconds.tokens": lambda: 64,
    "measure_matmul_seconds.width": lambda: 512,
    "function": lambda: lambda: HIDDEN @ HIDDEN.mT,
    "forward": lambda: lambda: HIDDEN @ HIDDEN.mT,
    "interactive_widget.answer": lambda: lambda text: (text, schedule_explorer()),
    "read_unsplit_pairs.corpus": lambda: "tatoeba-fr-en",
    "Translator.model": lambda: translator().model,
    "Translator.description": lambda: ModelDescription(
        translator().recipe, translator().src_tokenizer, translator().tgt_tokenizer
    ),
    "train": lambda: [("a cat", "un chat"), ("a dog", "un chien")],
    "trace": trace,
    "tree": tree,
    "count_tree_phrases.tree": lambda: "(S a )S",
    "draw_parse_tree.tree": lambda: "(S (NP the dog )NP (VP sleeps )VP )S",
    "trees": lambda: ["(S a )S", "(S c )S"],
    "types": lambda: ["a", "cat"],
    "validation_batches": lambda: [batch()],
    "value": lambda: HEADS,
    "values": lambda: torch.tensor([[1.0, 2.0], [0.5, 0.0]]),
    "vectors": lambda: HIDDEN,
    "vocab_size": lambda: VOCAB_SIZE,
    "warmup_steps": lambda: 4,
    "weights": lambda: torch.full((3, 3), 1 / 3),
    "draw_heads.weights": lambda: torch.full((2, 3, 3), 1 / 3),
    "width": lambda: 5,
    "without": lambda: {"zero": dict.fromkeys(means(), "Le chat dort.")},
    "words": lambda: ["the", "dog", "sleeps"],
    "world_size": lambda: 1,
    "worth": lambda: 0.5,
}
BY_TYPE: dict[Any, Callable[[], Any]] = {
    attention_laws.Adapter: lambda: sound_adapter(),
    attention_laws.Pipeline: lambda: attention_laws.Pipeline(train=[("a", "b")], test=[("c", "d")]),
    RecurrentConfig: lambda: RecurrentConfig(embedding_size=5, hidden_size=7, max_len=60),
    t.ModelConfig: lambda: CONFIG,
    t.TrainingConfig: lambda: TRAINING,
    t.Transformer: network,
    t.Translator: translator,
    t.ParallelText: text,
    TrainingState: state,
    nn.Module: network,
    EncoderDecoder: network,
    DataConfig: lambda: DATA,
    ModelDescription: lambda: ModelDescription(t.find_recipe("demo").override(TINY), bpe(), bpe()),
    bool: lambda: True,
    int: lambda: 2,
    float: lambda: 0.5,
    str: lambda: "a",
    Path: lambda: Path("a"),
    torch.device: lambda: torch.device("cpu"),
}


def cached_attention() -> Any:
    """Return a translation with its attention."""
    return translator().attention("The cat is sleeping.")


def t_confidence_interval() -> Any:
    """Return an interval of a difference."""
    from lessonkit import ConfidenceInterval

    return ConfidenceInterval(-1.0, 1.0)


def make_layer() -> Any:
    """Return a layer of width 6."""
    from lessonkit import make_layer

    return make_layer("convolution", 6)


def answers() -> Any:
    """Return the shares of the demo's heads."""
    return measure_roles(translator(), t.embedded.sentences("validation")[:2])[:2]


BY_NAME["answers"] = answers


def sound_argument(function: str, name: str, hint: Any) -> Any:
    """Return a value that a function takes for a parameter; a KeyError if none is known."""
    for key in (f"{function}.{name}", name):
        if key in BY_NAME:
            return BY_NAME[key]()
    for kind in (hint, *typing.get_args(hint)):
        for base in getattr(kind, "__mro__", ()):
            if base in BY_TYPE:
                return BY_TYPE[base]()
    origin = typing.get_origin(hint)
    if "Callable" in str(origin or hint):
        return lambda *arguments, **keywords: ("", None)
    raise KeyError(f"no sound argument is known for {function}({name}: {hint})")
