"""The page translates as the package does, greedily and by beam, with and without cuts."""

from pathlib import Path

import pytest
import torch

from lessonkit.analysis.beam_tree import grow_beam_tree
from lessonkit.analysis.heads import Head
from lessonkit.analysis.interventions import without_heads
from tests.helpers.hiding import translate_hiding
from tests.live.node import ask
from transformer.config import BEAM_SIZE, LENGTH_PENALTY
from transformer.data import corpora
from transformer.data.batches import collate_sources
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.files import models_folder

EMBEDDED = {"demo-en-fr": ("en", "fr"), "demo-fr-en": ("fr", "en")}
SPLITS = {"test": 70, "test_combinations": 20, "test_long": 10}
SENTENCE = "The clever saleswoman is reading an interesting novel."


def embedded_sentences(name: str) -> list[str]:
    """A fixed hundred: of each test split every so manieth."""
    found: list[str] = []
    for split, number in SPLITS.items():
        src = corpora.load("embedded", split, *EMBEDDED[name]).src
        found += src[:: len(src) // number][:number]
    return found


def compare(name: str, sentences: list[str], folder: Path) -> None:
    question = {"act": "translate", "folder": models_folder() / name, "sentences": sentences}
    sizes = (1, BEAM_SIZE)
    answers = ask(
        folder, *(question | {"beam_size": size, "alpha": LENGTH_PENALTY} for size in sizes)
    )
    translator = Translator.load(name)
    for size, answer in zip(sizes, answers, strict=True):
        expected = translator.translate(sentences, beam_size=size)
        assert answer == expected, f"beam {size}"


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_few_sentences(name: str, tmp_path: Path) -> None:
    compare(name, ["", "  ", *embedded_sentences(name)[::20], "Wolfgang ☃."], tmp_path)


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_every_candidate_of_every_step(beam_size: int, shipped: Translator, tmp_path: Path) -> None:
    assert isinstance(shipped.model, Transformer)
    src = collate_sources([shipped.src_tokenizer.encode("Wolfgang reads a clever novel.")])
    question = {"act": "search", "folder": models_folder() / "demo-en-fr", "src": src[0].tolist()}
    options = {"beam_size": beam_size, "alpha": 1.3, "max_len": 13}
    (answer,) = ask(tmp_path, question | options)
    tree = grow_beam_tree(shipped.model, src, **options)
    assert [[(c["ids"], c["fate"]) for c in step] for step in answer["steps"]] == [
        [(list(c.ids), c.fate.value) for c in step] for step in tree.steps
    ]
    for key in ("log_prob", "total"):
        ours = torch.tensor([c[key] for step in answer["steps"] for c in step])
        theirs = torch.tensor([getattr(c, key) for step in tree.steps for c in step])
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
    assert [(h["ids"], h["finished"]) for h in answer["hypotheses"]] == [
        (h.ids, h.finished) for h in tree.hypotheses
    ]
    scores = torch.tensor([h["score"] for h in answer["hypotheses"]])
    expected = torch.tensor([h.score for h in tree.hypotheses])
    torch.testing.assert_close(scores, expected, atol=1e-4, rtol=1e-4)


HIDDEN = [
    {"after": [2]},
    {"after": list(range(1, 10))},
    {"before": [2]},
    {"before": [7], "after": [0, 1]},
]


def test_hidden_places(shipped: Translator, tmp_path: Path) -> None:
    question = {
        "act": "greedy",
        "folder": models_folder() / "demo-en-fr",
        "sentences": [SENTENCE],
    }
    answers = ask(tmp_path, question, *(question | hidden for hidden in HIDDEN))
    expected = [[translate_hiding(shipped, SENTENCE, **hidden)] for hidden in ({}, *HIDDEN)]
    assert answers == expected
    assert expected[0] != expected[3]  # the noun unseen by the encoder: the gender is lost


@pytest.mark.slow
def test_every_head_removed_alone_and_each_stack(shipped: Translator, tmp_path: Path) -> None:
    stacks = {
        stack: [Head(stack, layer, head) for layer in (1, 2) for head in (1, 2, 3, 4)]
        for stack in ("encoder", "decoder", "cross")
    }
    groups = [[head] for heads in stacks.values() for head in heads] + list(stacks.values())
    sentences = embedded_sentences("demo-en-fr")[::20]
    folder = models_folder() / "demo-en-fr"
    question = {"act": "greedy", "folder": folder, "sentences": sentences}
    removed = [[head._asdict() for head in group] for group in groups]
    answers = ask(tmp_path, *(question | {"removed": heads} for heads in removed))
    changed = 0
    whole = shipped.translate(sentences, beam_size=1)
    for group, answer in zip(groups, answers, strict=True):
        with without_heads(shipped.model, group):
            expected = shipped.translate(sentences, beam_size=1)
        assert answer == expected, group
        changed += answer != whole
    assert changed > len(groups) // 2  # removing heads does something
