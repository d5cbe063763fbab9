"""The page cuts text, translates and searches as the package does, with and without cuts."""

import itertools
import json
import random
from pathlib import Path

import pytest

from lessonkit.analysis.beam_tree import grow_beam_tree
from tests.live.node import ask
from transformer.config import BEAM_SIZE, LENGTH_PENALTY, DataConfig
from transformer.data import corpora, tokenizers
from transformer.data.batches import collate_sources
from transformer.data.normalizers import NORMALIZERS
from transformer.data.pre_tokenizers import PRE_TOKENIZERS
from transformer.models.translator import Translator
from transformer.support.folders import models_folder

EMBEDDED = {"demo-en-fr": ("en", "fr"), "demo-fr-en": ("fr", "en")}
SPLITS = ("test", "test_combinations", "test_long")


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_few_sentences(name: str, tmp_path: Path) -> None:
    translator, sizes = Translator.load(name), (1, BEAM_SIZE)
    found = [corpora.load("embedded", split, *EMBEDDED[name]).src[1::1000][:2] for split in SPLITS]
    sentences = ["", "  ", "\u200b\ufeff", "The d\u00adog", *itertools.chain(*found), "Wolfgang ☃."]
    question = {"act": "translate", "folder": models_folder() / name, "sentences": sentences}
    asked = [question | {"beam_size": size, "alpha": LENGTH_PENALTY} for size in sizes]
    for size, answer in zip(sizes, ask(tmp_path, *asked), strict=True):
        assert answer == translator.translate(sentences, beam_size=size), f"beam {size}"


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_every_candidate_of_every_step(beam_size: int, shipped: Translator, tmp_path: Path) -> None:
    src = collate_sources([shipped.src_tokenizer.encode("Wolfgang reads a clever novel.")])
    question = {"act": "search", "folder": models_folder() / "demo-en-fr", "src": src[0].tolist()}
    options = {"beam_size": beam_size, "alpha": 1.3, "max_len": 13}
    (answer,) = ask(tmp_path, question | options)
    tree = grow_beam_tree(shipped.model, src, **options)
    assert [[(c["ids"], c["status"]) for c in step] for step in answer["steps"]] == [
        [(list(c.ids), c.status.value) for c in step] for step in tree.steps
    ]
    for key in ("log_prob", "total"):
        ours = [c[key] for step in answer["steps"] for c in step]
        assert ours == pytest.approx([getattr(c, key) for s in tree.steps for c in s], rel=1e-4)
    for ours, theirs in zip(answer["hypotheses"], tree.hypotheses, strict=True):
        assert (ours["ids"], ours["finished"]) == (theirs.ids, theirs.finished)
        assert ours["score"] == pytest.approx(theirs.score, rel=1e-4)


MODELS = ("demo-en-fr", "de-en")  # each normalizer once
ODD = [
    "",
    "lestaurant" * 800,
    " \t\n ",
    "x",
    "L’homme dort ; « oui » ! Il est 8:40. Où ?Ici:là",
    "l´eau, l′eau, lʼeau, ‘ah’, „so“ “so” ”so”",
    "e\u0301te\u0301 Ma\u0308dchen A\u030a",
    "don't we'll I'VE they're it's he'd I'm '' 's",
    "tab\tno\u00a0break\u202fthin\u2009x\u3000y\x1cz\x85u\ufeffv\u200bw",
    "<eos> <pad> <bos> <unk>",
    "12 345,67 ٣٤:٥ 8:٤ x² Ⅷ ½",
    "日本語 한국어 العربية עברית ελληνικά Σίσυφος ΟΔΟΣ",
    "👩‍👩‍👧 🇫🇷 🏳️‍🌈 a\u0300\u0301",
    "ÄÖÜ straße STRASSE œuf Œuf ﬁn",
    "___--- ...!!! ??:: a;b;c (x)[y]{z} \\ / | ~ ` ^",
    "\x00\x01\x7f",
    "\u200b",
    "Ma\u00add\u200bchen \u200e\u202bwell\u2011known\u202c\u2060\ufeff\u2066",
    "Auf\u200clage \u200db می\u200c\u200cروم क\u094d\u200dष",
    "\U0001f3f3\ufe0f\u200d\U0001f308 e\u00ad\u0301",
]

WITH_MARKS = [
    "नमस्ते दुनिया, फ़ाइल 'खोलें'!",
    "สวัสดี ไฟล์%s ที่๑๒",
    "தமிழ் বাংলা မြန်မာ ភាសាខ្មែរ",
    "مُدَرِّسٌ שָׁלוֹם می\u200cروم",
    "\u0301a \u0301 1\ufe0f\u20e3 ❤\ufe0f x\u20d7 a\u200c b",
]


def files(name: str) -> list[Path]:
    return [models_folder() / name / f"{side}_tokenizer.json" for side in ("src", "tgt")]


@pytest.mark.parametrize("name", MODELS)
def test_text_becomes_the_same_ids_pieces_and_text_again(name: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    kinds = [*range(32, 600), *range(8192, 9000)]
    texts = [*ODD, *("".join(map(chr, chance.choices(kinds, k=13))) for _ in range(230))]
    for lang in ("en", "fr", "de"):
        text = corpora.load("embedded", "test", lang, "en" if lang != "en" else "fr")
        texts += text.src[::10]
    paths = files(name)
    both = ask(tmp_path, *({"act": "tokens", "tokenizer": path, "texts": texts} for path in paths))
    for path, answers in zip(paths, both, strict=True):
        tokenizer = tokenizers.load(path)
        for text, answer in zip(texts, answers, strict=True):
            ids = tokenizer.encode(text)
            expected = {
                "ids": ids,
                "pieces": tokenizer.ids_to_pieces(ids),
                "back": tokenizer.decode(ids),
            }
            assert answer == expected, repr(text)


@pytest.mark.parametrize("pre_tokenizer", PRE_TOKENIZERS)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_the_page_has_each_normalizer_and_pre_tokenizer(
    normalizer: str, pre_tokenizer: str, tmp_path: Path
) -> None:
    config = DataConfig(corpus="mine", src_lang="hi", tgt_lang="th", vocab_size=900)
    learned = tokenizers.train(config, [*ODD, *WITH_MARKS] * 2, [])[0]
    assert isinstance(learned, tokenizers.BPETokenizer)
    names = {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(learned.to_dict() | names), encoding="utf-8")
    texts = [*ODD, *WITH_MARKS]
    (answers,) = ask(tmp_path, {"act": "tokens", "tokenizer": path, "texts": texts})
    tokenizer = tokenizers.load(path)
    assert [answer["ids"] for answer in answers] == list(map(tokenizer.encode, texts))


def test_ids_that_no_text_gave_become_the_same_text(tmp_path: Path) -> None:
    path = files("demo-en-fr")[1]
    tokenizer, chance = tokenizers.load(path), random.Random(11)
    rows = [[chance.randrange(tokenizer.vocab_size) for _ in range(17)] for _ in range(100)]
    rows += [[chance.randrange(4, 260) for _ in range(17)] for _ in range(400)]  # bytes alone
    rows += [[number] for number in range(tokenizer.vocab_size)]
    (answers,) = ask(tmp_path, {"act": "text_of", "tokenizer": path, "rows": rows})
    for ids, answer in zip(rows, answers, strict=True):
        pieces = tokenizer.ids_to_pieces(ids)
        assert answer == {"text": tokenizer.decode(ids), "pieces": pieces}, ids
