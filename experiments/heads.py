"""What heads do and are worth, and what attention tells: the records of lesson 11.

Not in the paper. Heads are removed as by Michel et al. (2019, https://arxiv.org/abs/1905.10650),
and named by what they do as by Voita et al. (2019, https://aclanthology.org/P19-1580), who found
positional and syntactic heads and one for rare words: the name is found on some sentences and
tested on others. A head plays a role in a case if the place that the role names gets more of its
weight than any other. A role that is not itself a number of places has the lower of two shares: of
the cases that the most frequent number of places away gets right, and of the others. A head that
always looks equally far away fails in one of the two.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from lessonkit.analysis import roles
from lessonkit.analysis.alignment import (
    METHODS,
    alignment_error_rate,
    strongest_links,
    word_attribution,
)
from lessonkit.analysis.heads import Head, all_heads
from lessonkit.analysis.interventions import heads_replaced, mean_outputs, network_of
from lessonkit.analysis.roles import Reading, Tree, WordPair, read
from transformer.data import corpora
from transformer.data.corpora import Sentence, embedded
from transformer.data.parallel import ParallelText
from transformer.evaluation.compare import paired_bootstrap
from transformer.evaluation.scores import bleu
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import write_json
from transformer.training.devices import pick_device, provenance

SENTENCES = 300  # of the validation text, translated without each head
MEANS_OVER = 200  # of those that follow, for the heads' mean outputs
CHOSEN_ON, SCORED_ON = "validation", "test"  # splits of the embedded corpus, for roles
OF_ADJECTIVE, OF_VERB, OBJECT = "adjective: its noun", "verb: its subject", "verb: its object"
RARE = "the rarest word"
NAMED = 0.5  # from this score a head is named: it plays the role more often than not
FEWEST = 50  # cases of a role that is scored
_PLACED: frozenset[int] = frozenset()  # of a role that is itself a number of places away


def removal_scores(
    translator: Translator,
    sentences: Sequence[str],
    references: Sequence[str],
    others: Sequence[str],
) -> dict[str, Any]:
    """Score a Transformer without each of its heads, whose mean outputs are over `others`.

    Returns:
        "whole", the figures with all heads; "zero" and "mean", by what stands in the removed
        head's place, each with "heads", by name ("cross 1.4"). Figures, in points of BLEU: "beam"
        (of 4), and "low", "high" and "p" of a paired bootstrap against the whole model's.
    """
    model = network_of(translator)
    gold = [[reference] for reference in references]
    said = translator.translate(sentences)
    scores: dict[str, Any] = {"whole": {"beam": float(bleu(said, gold)["score"])}}
    means = mean_outputs(translator, others)
    zeros = {head: torch.zeros_like(mean) for head, mean in means.items()}
    for way, outputs in (("zero", zeros), ("mean", means)):
        figures = {}
        for head in tqdm(all_heads(model), desc=way, unit="head"):
            with heads_replaced(model, {head: outputs[head]}):
                left = translator.translate(sentences)
            compared = paired_bootstrap(said, left, gold)
            found = {"low": round(compared.low, 2), "high": round(compared.high, 2)}
            beam = float(bleu(left, gold)["score"])
            figures[str(head)] = {"beam": beam} | found | {"p": round(compared.p_value, 4)}
        scores[way] = {"heads": figures}
    return scores


def record_removals(model: str, file: Path) -> None:
    """Measure a model without each of its heads on its validation text, and write the figures."""
    translator = Translator.load(model, pick_device())
    data = translator.recipe.data
    text = corpora.load(data.corpus, "validation", data.src_lang, data.tgt_lang)
    src, tgt = text.src[:SENTENCES], text.tgt[:SENTENCES]
    others = text.src[SENTENCES : SENTENCES + MEANS_OVER]
    scores = removal_scores(translator, src, tgt, others)
    about = {"split": "validation", "sentences": len(src), "means_over": len(others)}
    _write(file, translator, model, about, scores)


def record_attributions(model: str, file: Path) -> str:
    """Judge what a model's words take from their source, on the test sentences; write that."""
    translator = Translator.load(model, pick_device())
    data = translator.recipe.data
    text = corpora.load("embedded", "test", data.src_lang, data.tgt_lang)
    scores = attribution_scores(translator, text)
    _write(file, translator, model, {"split": "test", "sentences": len(text)}, scores)
    return "\n".join(
        f"{name}: alignment error {figures['error']:.3f}" for name, figures in scores.items()
    )


def _write(
    file: Path, translator: Translator, model: str, about: dict[str, Any], figures: dict[str, Any]
) -> None:
    """Write a record with its origin."""
    origin = provenance(translator.device) | {"model": model}
    write_json(file, origin | about | {"figures": figures})


def attribution_scores(translator: Translator, text: ParallelText) -> dict[str, Any]:
    """Give for each of `METHODS` its "error", the alignment error rate on a text's gold links."""
    gold = text.alignments
    if gold is None:
        raise UserError("a text without gold alignments cannot judge any: give the embedded corpus")
    scores = {}
    for name, method in METHODS.items():
        found = [
            strongest_links(word_attribution(translator, src, tgt, method).weights[0, 0])
            for src, tgt in zip(text.src, text.tgt, strict=True)
        ]
        scores[name] = {"error": round(alignment_error_rate(found, gold), 4)}
    return scores


class Role(NamedTuple):
    """How often every head of a stack plays a role: who looks where."""

    stack: str
    role: str
    cases: int  # those in which the most frequent number of places away would not do
    even: float  # the share of these that looking evenly would get right, 0 to 1
    scores: Tensor  # the lower share of these and the others, (num_layers, num_heads)


class _Case(NamedTuple):
    """One row that may play a role."""

    stack: str
    role: str
    even: float  # the share of the row's places that the role names
    away: frozenset[int]  # of these, in places; none where the role is itself a number of places
    played: Tensor  # which heads do, (num_layers, num_heads)


def role_scores(translator: Translator, sentences: Sequence[Sentence]) -> list[Role]:
    """Score every head in every role while a model reads the corpus's own translations.

    The encoder's rows are English words (trees are of English): in the next place, the one
    before, itself, along the relations of the tree (see `relations`), and at the
    sentence's rarest word. The decoder's rows are tokens. Cross-attention's rows are words
    that are said: at their own source word, at that of the word before, at the rarest.
    """
    if not sentences:
        raise UserError("no sentences to score the heads on: give at least one")
    lang = translator.recipe.data.src_lang
    counts = Counter(w for each in embedded.sentences("train") for w in each.text(lang).split())
    found: dict[tuple[str, str], list[_Case]] = {}
    for sentence in sentences:
        words = sentence.text(lang).split()
        rarest = min(range(len(words)), key=lambda word: counts[words[word]])
        for case in _cases(read(translator, sentence), sentence, rarest):
            found.setdefault((case.stack, case.role), []).append(case)
    scored = []
    for asked, cases in found.items():
        usual, others = _by_place(cases)
        if len(others) >= FEWEST and (not usual or len(usual) >= FEWEST):
            even = sum(case.even for case in others) / len(others)
            scores = torch.minimum(_share(usual), _share(others)) if usual else _share(others)
            scored.append(Role(*asked, len(others), even, scores))
    return scored


def _by_place(cases: Sequence[_Case]) -> tuple[list[_Case], list[_Case]]:
    """Part the cases that the most frequent number of places away gets right from the others."""
    offsets = Counter(away for case in cases for away in case.away)
    usual = next((away for away, _ in offsets.most_common(1)), None)
    right = [case for case in cases if usual in case.away]
    return right, [case for case in cases if usual not in case.away]


def _share(cases: Sequence[_Case]) -> Tensor:
    """Give the share of cases in which each head plays its role, (num_layers, num_heads)."""
    return torch.stack([case.played for case in cases]).float().mean(0)


def _cases(seen: Reading, sentence: Sentence, rarest: int) -> Iterator[_Case]:
    """Give the cases of every role in one sentence."""
    if seen.encoder is not None:
        yield from _encoder_cases(sentence, seen.encoder.argmax(-1), rarest)
    strongest = seen.decoder.argmax(-1)  # (num_layers, num_heads, tgt_len)
    for role, row, column in seen.tokens_asked():
        yield _Case("decoder", role, 1 / (row + 1), _PLACED, strongest[..., row] == column)
    chosen, places = seen.cross.argmax(-1), seen.cross.shape[-1]
    for role, query, named in seen.said:
        if role in (roles.SAYING, roles.SAID):
            yield _case("cross", role, query, named, chosen, places)
            if role == roles.SAYING and rarest not in named:
                yield _case("cross", RARE, query, {rarest}, chosen, places)


def _encoder_cases(sentence: Sentence, chosen: Tensor, rarest: int) -> Iterator[_Case]:
    """Give the cases of the encoder's roles; `chosen` is (num_layers, num_heads, src_words)."""
    words = chosen.shape[-1]
    for query in range(words):
        for role, away in ((roles.ITSELF, 0), (roles.BEFORE, -1), (roles.NEXT, 1)):
            if 0 <= query + away < words:
                played = chosen[..., query] == query + away
                yield _Case("encoder", role, 1 / (words + 1), _PLACED, played)
        if query != rarest:
            yield _case("encoder", RARE, query, {rarest}, chosen, words + 1)
    for pair in relations(sentence):
        yield _case("encoder", pair.question, pair.query, set(pair.keys), chosen, words + 1)


def _case(stack: str, role: str, query: int, keys: set[int], chosen: Tensor, places: int) -> _Case:
    """Give a case of a role that names some words."""
    played = torch.isin(chosen[..., query], torch.tensor(sorted(keys)))
    return _Case(stack, role, len(keys) / places, frozenset(key - query for key in keys), played)


def relations(sentence: Sentence) -> Iterator[WordPair]:
    """Give the pairs that grammar joins, in one English sentence, all of each kind."""
    tree = Tree(sentence.parse)

    def about(parts: Sequence[int]) -> tuple[int, ...]:
        """The nouns that the first of some phrases is about; the pronoun where it is one."""
        for place in (tree.phrases[part] for part in parts[:1]):
            pronouns = [word for word in range(place.start, place.end) if tree.tags[word] == "PRP"]
            return tree.nouns(parts[0]) or tuple(pronouns)
        return ()

    for word, tag in enumerate(tree.tags):
        phrase = tree.around(word, "NP")
        pairs: list[tuple[str, tuple[int, ...]]] = []
        if tag in ("DT", "JJ") and phrase >= 0:
            noun = tuple(at for at in tree.nouns(phrase) if at > word)[:1]
            pairs.append((roles.NOUN if tag == "DT" else OF_ADJECTIVE, noun))
        if tag == "VB":
            pairs.append((OF_VERB, about(tree.parts(tree.around(word, "S"), "NP"))))
            pairs.append((OBJECT, about(tree.parts(tree.around(word, "VP"), "NP"))))
        yield from (WordPair(question, word, keys) for question, keys in pairs if keys)


def name_heads(chosen_on: Sequence[Role], scored_on: Sequence[Role]) -> dict[str, Any]:
    """Give each head the role in which it is furthest above an even spread on some sentences.

    Returns:
        For each head its role, its figures in that on other sentences, and whether it is named.
    """
    named = {}
    told = {(role.stack, role.role): role for role in scored_on}
    for stack in dict.fromkeys(role.stack for role in chosen_on):
        asked = [r for r in chosen_on if r.stack == stack and (r.stack, r.role) in told]
        above = torch.stack([role.scores - role.even for role in asked]).argmax(0)
        for layer, heads in enumerate(above.tolist()):
            for head, best in enumerate(heads):
                role = told[stack, asked[best].role]
                score = float(role.scores[layer, head])
                figures = {"role": role.role, "score": round(score, 3), "even": round(role.even, 3)}
                figures |= {"cases": role.cases, "named": score >= NAMED}
                named[str(Head(stack, layer + 1, head + 1))] = figures
    return named


def named_roles(translator: Translator) -> dict[str, Any]:
    """Name every head of a model on the validation sentences, and score it on the test's."""
    splits = (embedded.sentences(split) for split in (CHOSEN_ON, SCORED_ON))
    return name_heads(*(role_scores(translator, sentences) for sentences in splits))


def record_roles(model: str, file: Path) -> None:
    """Name a model's heads, and write their roles."""
    translator = Translator.load(model, pick_device())
    about = {"chosen_on": CHOSEN_ON, "scored_on": SCORED_ON}
    _write(file, translator, model, about, named_roles(translator))
