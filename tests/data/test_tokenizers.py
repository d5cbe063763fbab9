"""Words and byte-pair encoding: round trips, hand-worked cases, files, errors."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.config import BOS_ID, EOS_ID, PAD_ID, SPECIAL_TOKENS, UNK_ID, DataConfig
from transformer.data import tokenizers
from transformer.data.normalizers import normalize_german
from transformer.data.pre_tokenizers import PRE_TOKENIZERS
from transformer.data.tokenizers import (
    BPETokenizer,
    WordTokenizer,
    load,
    train,
)
from transformer.data.word_splitting import split_words
from transformer.support.errors import UserError
from transformer.support.files import write_json

STEADY = settings(deadline=None, derandomize=True)
GERMAN = ["Der Hund läuft über die Straße.", "Der Hund schläft.", "Die Straße ist naß."] * 3
ENGLISH = ["The dog runs across the street.", "The dog sleeps.", "The street is wet."] * 3


def config(kind: str = "bpe", **changes: Any) -> DataConfig:
    values: dict[str, Any] = {"vocab_size": 293, "tokenizer": kind} | changes
    return DataConfig(**{"corpus": "embedded", "src_lang": "de", "tgt_lang": "en"} | values)


WORDS = config("words")
TRAINED = train(config(), GERMAN, ENGLISH)[0]
LOWERCASE = train(config(lowercase=True), GERMAN, ENGLISH)[0]


def byte_id(letter: str) -> int:
    return 4 + ord(letter)


# --- byte-pair encoding ---------------------------------------------------------------


@STEADY
@given(st.text())
def test_bpe_gives_back_every_text_as_normalized(text: str) -> None:
    assert TRAINED.decode(TRAINED.encode(text)) == normalize_german(text)
    assert LOWERCASE.decode(LOWERCASE.encode(text)) == normalize_german(text).lower()


@STEADY
@given(st.text(max_size=30))
def test_bpe_shows_one_piece_per_id_and_marks_every_blank(text: str) -> None:
    shown = TRAINED.tokens(text)
    assert len(shown) == len(TRAINED.encode(text))
    assert TRAINED.encode_all([text, "dog"]) == [TRAINED.encode(text), TRAINED.encode("dog")]
    assert " " not in "".join(shown)
    assert shown[0].startswith("▁")


def test_bpe_by_hand() -> None:
    tokenizer = BPETokenizer([("Ġ", "a"), ("Ġa", "b")])
    assert tokenizer.vocab_size == 4 + 256 + 2
    assert tokenizer.encode("ab ac") == [4 + 257, 4 + 256, byte_id("c")]
    assert tokenizer.tokens("ab ac") == ["▁ab", "▁a", "c"]
    assert tokenizer.tokens("é") == ["▁", "<0xC3>", "<0xA9>"]
    assert tokenizer.decode([4 + 0xC3, byte_id("x")]) == "\ufffdx"
    assert tokenizer.decode([byte_id(" "), byte_id(" "), byte_id("x")]) == " x"
    ids = [BOS_ID, *tokenizer.encode("ab"), UNK_ID, EOS_ID, PAD_ID]
    assert tokenizer.decode(ids) == "ab"
    assert tokenizer.ids_to_pieces(ids) == ["<bos>", "▁ab", "<unk>", "<eos>", "<pad>"]


def test_bpe_two_ways_to_one_piece_share_its_id() -> None:
    tokenizer = BPETokenizer([("a", "b"), ("ab", "c"), ("b", "c"), ("a", "bc")])
    assert tokenizer.vocab_size == 4 + 256 + 3
    assert tokenizer.tokens("abc") == ["▁", "abc"]


def test_bpe_learns_a_pair_that_is_seen_min_frequency_times() -> None:
    for fewest, merges in ((2, ["a b"]), (3, [])):
        joint, _ = train(config(min_frequency=fewest), ["ab"], ["xab"])
        assert joint.to_dict()["merges"] == merges


@pytest.mark.parametrize(
    "word",
    ["नमस्ते", "தமிழ்", "বাংলা", "สวัสดี", "မြန်မာ", "ភាសាខ្មែរ", "مُدَرِّسٌ", "שָׁלוֹם", "می\u200cروم", "क्\u200dष"],
)
def test_a_new_vocabulary_learns_words_with_their_marks_and_joiners(word: str) -> None:
    tokenizer, _ = train(config(src_lang="xq", vocab_size=900), [word] * 2, ENGLISH)
    assert tokenizer.encode(word) == tokenizer.encode(f" {word}")
    assert len(tokenizer.encode(word)) == 1
    assert tokenizer.decode(tokenizer.encode(f"{word} {word}")) == f"{word} {word}"
    assert isinstance(tokenizer, BPETokenizer)
    # A tokenizer of before cuts it as it did.
    earlier = BPETokenizer(tokenizer.merges, normalizer=tokenizer.normalizer)
    assert len(earlier.encode(word)) > 1
    assert earlier.decode(earlier.encode(word)) == tokenizer.decode(tokenizer.encode(word))


def is_mark_or_joiner(character: str) -> bool:
    return unicodedata.category(character).startswith("M") or character in "\u200c\u200d"


@STEADY
@given(st.text())
def test_text_without_marks_is_cut_as_before(text: str) -> None:
    earlier, new = (PRE_TOKENIZERS[name] for name in ("gpt2", "gpt2_with_marks"))
    assert "".join(piece for piece, _ in new.pre_tokenize_str(text)) == "".join(
        piece for piece, _ in earlier.pre_tokenize_str(text)
    )
    # Unassigned ones may be marks for one version of Unicode alone.
    plain = "".join(
        character
        for character in text
        if not is_mark_or_joiner(character) and unicodedata.category(character) != "Cn"
    )
    assert new.pre_tokenize_str(plain) == earlier.pre_tokenize_str(plain)


@pytest.mark.slow
def test_a_special_token_in_text_is_letters_or_words() -> None:
    for special in (*SPECIAL_TOKENS, "a <eos> b", "<pad><pad>"):
        ids = TRAINED.encode(special)
        assert min(ids) >= 4
        assert TRAINED.decode(ids) == special
        for lang in ("de", "en", "fr"):
            words = WordTokenizer(lang, [*split_words(lang, special), "x"])
            assert min(words.encode(f"x {special} x")) >= 4


def test_bpe_vocabulary_stays_within_its_size() -> None:
    assert TRAINED.vocab_size == 293
    assert train(config(vocab_size=8009), GERMAN, ENGLISH)[0].vocab_size < 400
    assert train(config(vocab_size=260), GERMAN, ENGLISH)[0].vocab_size == 260


def test_bpe_joint_sides_share_their_ids_and_separate_sides_differ(
    capfd: pytest.CaptureFixture[str],
) -> None:
    src, tgt = train(config(), GERMAN, ENGLISH)
    assert src.to_dict() == TRAINED.to_dict()
    assert src.to_dict()["merges"] == tgt.to_dict()["merges"]
    assert (src.to_dict()["normalizer"], tgt.to_dict()["normalizer"]) == ("german", "english")
    src, tgt = train(config(joint_vocabulary=False), GERMAN, ENGLISH)
    assert src.tokens("Straße") == ["▁Straße"]
    assert len(tgt.tokens("Straße")) > 1
    assert tgt.tokens("street") == ["▁street"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("kind", "most", "fewer"), [("bpe", 265, 262), ("words", 9, 6)])
def test_the_source_may_have_a_vocabulary_of_another_size(kind: str, most: int, fewer: int) -> None:
    changes = {"joint_vocabulary": False, "min_frequency": 1, "vocab_size": most}
    usual = train(config(kind, **changes), GERMAN, ENGLISH)
    src, tgt = train(config(kind, **changes, src_vocab_size=fewer), GERMAN, ENGLISH)
    assert [tokenizer.vocab_size for tokenizer in (src, *usual, tgt)] == [fewer, most, most, most]
    assert tgt.to_dict() == usual[1].to_dict()


# --- words ----------------------------------------------------------------------------


def test_words_come_by_frequency_then_by_alphabet() -> None:
    changes = {"joint_vocabulary": False, "min_frequency": 2, "lowercase": True}
    src, tgt = train(config("words", **changes), ["B a b c"], ["c d c a d e", "A d"])
    assert src.to_dict()["types"] == ["b"]
    assert tgt.to_dict()["types"] == ["d", "a", "c"]
    assert tgt.encode("a D e") == [5, 4, UNK_ID]
    assert tgt.vocab_size == 7


def test_words_joint_counts_both_sides_and_each_keeps_its_language() -> None:
    src, tgt = train(WORDS, ["Hand z.B. Uhr"], ["Hand dogs"])
    assert src.to_dict()["types"] == tgt.to_dict()["types"] == ["Hand"]
    assert src.tokens("z.B.") == ["z.B."]
    assert (src.to_dict()["lang"], tgt.to_dict()["lang"]) == ("de", "en")


def test_a_language_that_nobody_listed_is_encoded_and_comes_back() -> None:
    text = ["tlhIngan Hol  Dajatlh'a’?", "¿Habla español?"]
    src, tgt = train(config(src_lang="tlh", tgt_lang="es"), text[:1] * 2, text[1:] * 2)
    assert src.decode(src.encode(text[0])) == "tlhIngan Hol Dajatlh'a’?"
    assert tgt.decode(tgt.encode(text[1])) == text[1]


def test_words_show_unknown_words_and_decode_leaves_special_ids_out() -> None:
    tokenizer = WordTokenizer("en", ["dog", "."])
    assert tokenizer.tokens("Blue dog.") == ["Blue", "dog", "."]
    assert tokenizer.encode("Blue dog.") == [UNK_ID, 4, 5]
    assert tokenizer.ids_to_pieces([BOS_ID, UNK_ID, 4, EOS_ID]) == [
        "<bos>",
        "<unk>",
        "dog",
        "<eos>",
    ]
    assert tokenizer.decode([BOS_ID, UNK_ID, 4, 5, EOS_ID, PAD_ID]) == "dog ."


def test_words_are_not_learned_where_all_are_rare() -> None:
    with pytest.raises(UserError, match="min_frequency = 2 times: give more text"):
        train(WORDS, ["ein Hund"], ["a dog"])


# --- both kinds -----------------------------------------------------------------------

WRITTEN, TYPED = "L'été d'ici : \"x\" !", "L’e\u0301te\u0301\u00a0d’ici:\t“x”!"


@pytest.mark.parametrize(("kind", "joint"), [("bpe", True), ("words", False)])
def test_text_is_normalized_alike_in_training_and_on_every_way_in(kind: str, joint: bool) -> None:
    changes = {"src_lang": "fr", "joint_vocabulary": joint, "min_frequency": 1}
    learned = train(config(kind, **changes), [WRITTEN], ["It's here!"])
    retyped = train(config(kind, **changes), [TYPED], ["It’s\u00a0here!"])
    for once, again in zip(learned, retyped, strict=True):
        assert once.to_dict() == again.to_dict()
    src, tgt = learned
    assert UNK_ID not in src.encode(TYPED)
    assert src.encode(TYPED) == src.encode(WRITTEN)
    assert src.encode_all([TYPED, WRITTEN]) == [src.encode(WRITTEN)] * 2
    assert src.tokens(TYPED) == src.tokens(WRITTEN)
    assert tgt.encode("It’s here!") == tgt.encode("It's here!")
    assert tgt.tokens("It’s here!")[-1] == "!"  # no French blank in English


def test_a_lone_surrogate_is_refused_in_training_and_in_encoding() -> None:
    for kind in ("bpe", "words"):
        with pytest.raises(UserError, match="half a letter"):
            train(config(kind), ["ein Hund", "ein\ud800"], ["a dog"] * 2)
    for tokenizer in (TRAINED, WordTokenizer("en", ["dog"])):
        with pytest.raises(UserError, match="half a letter"):
            tokenizer.encode_all(["dog", "\ud800"])


def test_a_saved_tokenizer_comes_back_the_same(tmp_path: Path) -> None:
    for tokenizer in (TRAINED, WordTokenizer("fr", ["été", '"', "x"], True, "french")):
        write_json(tmp_path / "tokenizer.json", tokenizer.to_dict())
        again = load(tmp_path / "tokenizer.json")
        assert type(again) is type(tokenizer)
        assert again.to_dict() == tokenizer.to_dict()
        assert again.encode("Été x “Hund”") == tokenizer.encode("Été x “Hund”")


def test_earlier_files_name_the_normalizer_otherwise_or_less(tmp_path: Path) -> None:
    path, values = tmp_path / "tokenizer.json", TRAINED.to_dict()
    name = values.pop("normalizer")
    write_json(path, values)
    assert load(path).to_dict()["normalizer"] == "plain"
    write_json(path, values | {"treatment": name})
    assert load(path).to_dict() == TRAINED.to_dict()
    del values["pre_tokenizer"]
    write_json(path, values | {"normalizer": name})
    assert load(path).to_dict() == TRAINED.to_dict() | {"pre_tokenizer": "gpt2"}
    write_json(path, values | {"pre_tokenizer": "gpt"})
    with pytest.raises(
        UserError, match=r"r\.json: unknown pre-tokenizer 'gpt': did you mean 'gpt2'"
    ):
        load(path)
    write_json(path, values | {"normalizer": "germn"})
    with pytest.raises(
        UserError, match=r"r\.json: unknown normalizer 'germn': did you mean 'german'"
    ):
        load(path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "letters"}, "it holds"),
        ({"merges": None}, "merges is None"),
        ({"lowercase": "no"}, "lowercase is 'no'"),
        ({"normalizer": ["plain"]}, r"normalizer is \['plain'\]"),
        ({"pre_tokenizer": 2}, "pre_tokenizer is 2"),
        ({"speed": 3}, "it has speed, which is unknown"),
        ({"merges": ["a b", "ab"]}, "a merge is 'ab'"),
        ({"merges": ["a b", 7]}, "a merge is 7"),
        ({"merges": ["ab c", "a b"]}, "a merge is 'ab c'"),
        ({"merges": ["a \u20ac"]}, "a merge is 'a \u20ac'"),
        ({"kind": "words", "lang": "de", "types": ["a"]}, "it has merges, which is unknown"),
        ({"kind": "words", "lang": "de"}, "it has merges, which is unknown"),
    ],
)
def test_json_that_is_no_tokenizer_is_refused(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    path, values = tmp_path / "tokenizer.json", TRAINED.to_dict()
    write_json(path, values | change)
    with pytest.raises(UserError, match=rf"tokenizer\.json is no tokenizer .*{problem}.*; copy it"):
        load(path)


def test_json_that_is_no_word_tokenizer_is_refused(tmp_path: Path) -> None:
    path, values = tmp_path / "tokenizer.json", WordTokenizer("de", ["Hund"]).to_dict()
    for change, problem in (
        ({"types": ["a", "b", "a"]}, "a type stands in it twice"),
        ({"types": ["a", ""]}, "a type is ''"),
        ({"types": ["a", 5]}, "a type is 5"),
        ({"lang": None}, "lang is None"),
    ):
        write_json(path, values | change)
        with pytest.raises(UserError, match=rf"tokenizer\.json is no tokenizer .*{problem}; copy"):
            load(path)
    for other in ([], "bpe", 3, None, {}, {"model": {"type": "BPE"}}):
        write_json(path, other)
        with pytest.raises(UserError, match=r"tokenizer\.json is no tokenizer .*: it holds"):
            load(path)


def test_a_merge_joins_pieces_that_are_there() -> None:
    assert BPETokenizer([("a", "b"), ("ab", "c")]).vocab_size
    with pytest.raises(UserError, match="no merge before it makes both"):
        BPETokenizer([("ab", "c"), ("a", "b")])


def test_many_sentences_are_encoded_in_chunks_as_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokenizer = BPETokenizer([("a", "b"), ("ab", "c")])
    texts = [f"abc {'b' * i}" for i in range(7)]
    monkeypatch.setattr(tokenizers, "TEXTS_PER_CHUNK", 3)
    assert tokenizer.encode_all(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_all([]) == []
