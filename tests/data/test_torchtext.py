"""torchtext 0.6, the interface of the course's five systems, beside ours.

The same types in the same order under another numbering of the special tokens, the same tensors;
the notebook A1 shows the same. On the embedded corpus, and on Multi30k where it is.
"""

import random
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch
from torchtext.data import BucketIterator, Field
from torchtext.datasets import TranslationDataset

from tests.helpers import weekly
from transformer.config import EOS_ID, PAD_ID, SPECIAL_TOKENS
from transformer.data import corpora
from transformer.data.batches import Example, collate
from transformer.data.normalizers import NORMALIZERS, normalizer_name_of_language
from transformer.data.parallel import ParallelText
from transformer.data.tokenizers import Tokenizer, train
from transformer.data.word_splitting import split_words
from transformer.recipes import find_recipe

pytestmark = pytest.mark.slow
SPECIALS = ["<unk>", "<pad>", "<sos>", "<eos>"]  # torchtext's order
# Of German and English, when known. System 4, whose text was not normalized, had types of blanks
# alone beside these: a no-break one and a double one in German, a double one in English.
TYPES = {"embedded": None, "multi30k": [7853 - 2, 5893 - 1]}


class Sides(NamedTuple):
    """One corpus, German to English, in both libraries."""

    corpus: str
    text: ParallelText
    tokenizers: tuple[Tokenizer, Tokenizer]
    dataset: Any  # torchtext's, with its fields `src` and `trg`


def normalized_words(lang: str, text: str) -> list[str]:
    """Cut normalized text into words, so that torchtext sees what our tokenizers see."""
    return split_words(lang, NORMALIZERS[normalizer_name_of_language(lang)](text))


@pytest.fixture(scope="module", params=["embedded", weekly("multi30k")])
def sides(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sides:
    """A corpus as two files, which torchtext reads as system 4 did."""
    config = find_recipe("multi30k").override({"corpus": request.param}).data
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "multi30k":
            patch.setenv("TRANSFORMER_DATA", str(request.getfixturevalue("shared_data")))
        text = corpora.load(request.param, "train", "de", "en")
    stem, fields = tmp_path_factory.mktemp("text") / "text", []
    marks = {"init_token": "<sos>", "eos_token": "<eos>"}
    for lang, lines in (("de", text.src), ("en", text.tgt)):
        stem.with_suffix(f".{lang}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        words = partial(normalized_words, lang)
        fields.append(Field(tokenize=words, lower=True, batch_first=True, **marks))
    dataset = TranslationDataset(str(stem), (".de", ".en"), fields)
    for field in fields:
        field.build_vocab(dataset, min_freq=2)
    return Sides(request.param, text, train(config, text.src, text.tgt), dataset)


def renumbering(field: Any, tokenizer: Tokenizer) -> torch.Tensor:
    """For each of torchtext's ids ours, by the type that it stands for."""
    ours = {token: number for number, token in enumerate(SPECIAL_TOKENS)}
    names = {"<sos>": "<bos>"}
    words = tokenizer.ids_to_pieces(range(len(SPECIAL_TOKENS), tokenizer.vocab_size))
    ours |= {word: number for number, word in enumerate(words, start=len(SPECIAL_TOKENS))}
    return torch.tensor([ours[names.get(token, token)] for token in field.vocab.itos])


def test_the_same_types_in_the_same_order(sides: Sides) -> None:
    sizes = []
    for name, tokenizer in zip(("src", "trg"), sides.tokenizers, strict=True):
        theirs = sides.dataset.fields[name].vocab.itos
        ours = tokenizer.ids_to_pieces(range(tokenizer.vocab_size))
        assert theirs[:4] == SPECIALS
        assert tuple(ours[:4]) == SPECIAL_TOKENS
        assert theirs[4:] == ours[4:]
        sizes.append(len(theirs))
    assert TYPES[sides.corpus] in (None, sizes)


def test_the_same_tensors_of_the_same_sentences(sides: Sides) -> None:
    random.seed(3)
    fields = sides.dataset.fields.values()
    tables = [
        renumbering(field, tokenizer)
        for field, tokenizer in zip(fields, sides.tokenizers, strict=True)
    ]
    taken = 0
    for batch in BucketIterator(sides.dataset, batch_size=61, sort_within_batch=True):
        src, tgt = tables[0][batch.src], tables[1][batch.trg]
        examples = [Example(real(row), real(other)) for row, other in zip(src, tgt, strict=True)]
        ours = collate(examples)
        assert torch.equal(ours.src, src[:, 1:])  # our source has no begin mark
        assert torch.equal(ours.tgt_out, tgt[:, 1:])
        # cut off behind, theirs keeps the end mark of shorter rows, where nothing is asked
        theirs = tgt[:, :-1]
        asked = ours.tgt_out != PAD_ID
        assert torch.equal(ours.tgt_in[asked], theirs[asked])
        assert set(theirs[~asked].tolist()) <= {EOS_ID, PAD_ID}
        taken += len(examples)
    assert taken == len(sides.text)


def real(row: torch.Tensor) -> list[int]:
    """The ids of a sentence between its marks."""
    ids = row.tolist()
    return ids[1 : ids.index(EOS_ID)]
