"""Two exercises of lesson 11 about trees: which brackets are open, what two trees share."""

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from transformer.evaluation.parse_f1 import phrases

words = read_words("11")

_GOLD = "(S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP . )S"


def my_closing(tokens: list[str]) -> list[str]:
    """Give the brackets that close a tree, the innermost first."""
    waiting = []
    for token in tokens:
        if token.startswith("("):
            waiting.append(token[1:])
        elif token.startswith(")"):
            waiting.pop()
    return [f"){label}" for label in reversed(waiting)]


def outermost_first(tokens: list[str]) -> list[str]:
    """Close in the order of opening."""
    return my_closing(tokens)[::-1]


def as_opened(tokens: list[str]) -> list[str]:
    """Give the brackets as they were opened."""
    return [f"({each[1:]}" for each in my_closing(tokens)]


def closes_all(tokens: list[str]) -> list[str]:
    """Close every bracket, closed or not."""
    return [f"){token[1:]}" for token in reversed(tokens) if token.startswith("(")]


def by_counting(tokens: list[str]) -> list[str]:
    """Take away each label that was closed once, wherever it was opened."""
    opened = [token[1:] for token in tokens if token.startswith("(")]
    for token in tokens:
        if token.startswith(")"):
            opened.remove(token[1:])  # the first of that label, not the last
    return [f"){label}" for label in reversed(opened)]


def _by_shrinking(tokens: list[str]) -> list[str]:
    """Cancel pairs that stand side by side until there are none."""
    brackets = [token for token in tokens if token[0] in "()"]
    index = 0
    while index + 1 < len(brackets):
        if brackets[index][0] == "(" and brackets[index + 1][0] == ")":
            del brackets[index : index + 2]
            index = max(0, index - 1)
        else:
            index += 1
    return [f"){token[1:]}" for token in brackets[::-1]]


closing = Exercise(
    my_closing,
    words,
    worked=[
        ((["(S", "(NP", "DT", "NN"],), [")NP", ")S"]),
        ((["(S", "(NP", "NN", ")NP"],), [")S"]),
        ((["(NP", "NN", ")NP"],), []),
    ],
    cases=[(_GOLD.split()[:end],) for end in range(1, len(_GOLD.split()) + 1)]
    + [
        (["(NP", "(VP", "(NP", "NN", ")NP"],),
        (["(S", "(NP", "(SBAR", "(S", "(NP", "NN", ")NP", ")S"],),
        (["(NP", "(NP", "NN"],),
        (["(NP", "(PP", "(NP", "(PP", "NN"],),
        (["(S", "(NP", "(NP", "NN", ")NP"],),
    ],
    expected=_by_shrinking,
    wrong={
        "outermost_first": outermost_first,
        "as_opened": as_opened,
        "closes_all": closes_all,
        "by_counting": by_counting,
    },
)


Phrase = tuple[str, int, int]


def my_shared(said: list[Phrase], right: list[Phrase]) -> float:
    """Give the labelled F1 of a tree's phrases, 0 to 1."""
    common = sum(min(said.count(p), right.count(p)) for p in set(said))
    return 2 * common / (len(said) + len(right))


def precision(said: list[Phrase], right: list[Phrase]) -> float:
    """Divide by what was said."""
    return sum(min(said.count(p), right.count(p)) for p in set(said)) / len(said)


def recall(said: list[Phrase], right: list[Phrase]) -> float:
    """Divide by what is right."""
    return sum(min(said.count(p), right.count(p)) for p in set(said)) / len(right)


def labels_alone(said: list[Phrase], right: list[Phrase]) -> float:
    """Compare the labels, wherever they stand."""
    return my_shared([(p[0], 0, 0) for p in said], [(p[0], 0, 0) for p in right])


def spans_alone(said: list[Phrase], right: list[Phrase]) -> float:
    """Compare the places, whatever their label."""
    return my_shared([("", *p[1:]) for p in said], [("", *p[1:]) for p in right])


def once_each(said: list[Phrase], right: list[Phrase]) -> float:
    """Count a phrase that stands twice once."""
    return my_shared(list(set(said)), list(set(right)))


def not_clipped(said: list[Phrase], right: list[Phrase]) -> float:
    """Count a phrase as often as it was said."""
    return 2 * sum(phrase in right for phrase in said) / (len(said) + len(right))


def from_both_sides(said: list[Phrase], right: list[Phrase]) -> float:
    """Ask of each phrase, on either side, whether the other list has it."""
    found = sum(p in right for p in said) + sum(p in said for p in right)
    return found / (len(said) + len(right))


def _by_removing(said: list[Phrase], right: list[Phrase]) -> float:
    """Strike each right phrase off a list, once."""
    left, common = list(right), 0
    for phrase in said:
        if phrase in left:
            left.remove(phrase)
            common += 1
    return 2 * common / (len(said) + len(right))


def _read(tree: str) -> list[Phrase]:
    return list(phrases(tree).elements())


shared = Exercise(
    my_shared,
    words,
    worked=[
        (([("NP", 0, 1)], [("NP", 0, 1)]), 1.0),
        (([("S", 0, 1)], [("S", 0, 1), ("NP", 0, 1)]), 2 / 3),
        (([("NP", 0, 1)] * 2, [("NP", 0, 1)]), 2 / 3),
    ],
    cases=[
        (_read(said), _read(_GOLD))
        for said in (
            _GOLD,
            "(S DT NN VB DT JJ NN . )S",
            "(S (NP DT NN )NP (VP VB )VP (NP DT JJ NN )NP . )S",
            "(S (NP DT NN )NP (NP VB (NP DT JJ NN )NP )NP . )S",
            "(S (VP DT NN )VP (VP VB (NP DT JJ NN )NP )VP . )S",
        )
    ]
    + [([("NP", 0, 1)] * 2, [("NP", 0, 1)] * 3)]
    + [([("S", 0, 2), *[("NP", 0, 1)] * 2], [("NP", 0, 1), ("VP", 1, 2)])]
    + [([("NP", 0, 2)], [("NP", 1, 2)]), ([("NP", 0, 1)], [("NP", 0, 2)])],
    expected=_by_removing,
    wrong={
        "precision": precision,
        "recall": recall,
        "labels_alone": labels_alone,
        "spans_alone": spans_alone,
        "not_clipped": not_clipped,
        "from_both_sides": from_both_sides,
        "once_each": once_each,
    },
)
