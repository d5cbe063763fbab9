"""The page cuts text into the package's own ids, and writes ids as the package does."""

import random
from pathlib import Path

import pytest

from tests.live.node import ask
from transformer.data import corpora, tokenizers
from transformer.support.files import models_folder

MODELS = ("demo-en-fr", "de-en")  # each treatment of text once
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
]


def files(name: str) -> list[Path]:
    return [models_folder() / name / f"{side}_tokenizer.json" for side in ("src", "tgt")]


@pytest.mark.parametrize("name", MODELS)
def test_text_becomes_the_same_ids_pieces_and_text_again(name: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    letters = [
        chr(chance.choice((chance.randrange(32, 600), chance.randrange(8192, 9000))))
        for _ in range(3000)
    ]
    texts = [*ODD, *("".join(letters[i : i + 13]) for i in range(0, 3000, 13))]
    for lang in ("en", "fr", "de"):
        text = corpora.load("embedded", "test", lang, "en" if lang != "en" else "fr")
        texts += text.src[::10]
    paths = files(name)
    both = ask(tmp_path, *({"act": "tokens", "tokenizer": path, "texts": texts} for path in paths))
    for path, answers in zip(paths, both, strict=True):
        tokenizer = tokenizers.load(path)
        for text, answer in zip(texts, answers, strict=True):
            ids = tokenizer.encode(text)
            expected = {"ids": ids, "pieces": tokenizer.pieces(ids), "back": tokenizer.decode(ids)}
            assert answer == expected, repr(text)


def test_ids_that_no_text_gave_become_the_same_text(tmp_path: Path) -> None:
    path = files("demo-en-fr")[1]
    tokenizer, chance = tokenizers.load(path), random.Random(11)
    rows = [[chance.randrange(tokenizer.vocab_size) for _ in range(17)] for _ in range(100)]
    rows += [[chance.randrange(4, 260) for _ in range(17)] for _ in range(400)]  # bytes alone
    rows += [[number] for number in range(tokenizer.vocab_size)]
    (answers,) = ask(tmp_path, {"act": "text_of", "tokenizer": path, "rows": rows})
    for ids, answer in zip(rows, answers, strict=True):
        assert answer == {"text": tokenizer.decode(ids), "pieces": tokenizer.pieces(ids)}, ids
