"""Trees of phrases as a model says them, and how right they are (§6.3, Table 4).

A tree is a line such as "(S (NP DT NN )NP (VP VB )VP . )S". It is scored as parsers are: by the
phrases it has in common with the gold tree, each a label with its first and last word (PARSEVAL,
Black et al. 1991).
"""

from collections import Counter
from collections.abc import Sequence

from transformer.support.errors import UserError

Phrases = Counter[tuple[str, int, int]]


def phrases(tree: str) -> Phrases:
    """Read the phrases of a tree.

    What a model says need not be a tree. A closing bracket ends the phrase that was opened last,
    if that has its label; a bracket without its other half is no phrase.

    Args:
        tree: Brackets and parts of speech, blanks between them.

    Returns:
        How often there is each phrase (label, first word, last word + 1); words count from 0.
    """
    found: Phrases = Counter()
    open_brackets: list[tuple[str, int]] = []
    words = 0
    for token in tree.split():
        if token.startswith("("):
            open_brackets.append((token[1:], words))
        elif not token.startswith(")"):
            words += 1
        elif open_brackets and open_brackets[-1][0] == token[1:]:
            label, start = open_brackets.pop()
            found[label, start, words] += 1
    return found


def parse_f1(found: Sequence[str], gold: Sequence[str]) -> float:
    """Score trees by labelled phrases: the harmonic mean of precision and recall, over all.

    Args:
        found: Trees as a model said them.
        gold: The right ones, in the same order.

    Returns:
        0 to 100.

    Raises:
        UserError: there are no trees, not as many of the one as of the other, or no phrase in
            any of them.
    """
    if not gold or len(found) != len(gold):
        raise UserError(f"{len(found)} trees for {len(gold)} sentences: give one for each")
    said, right = [phrases(tree) for tree in found], [phrases(tree) for tree in gold]
    common = sum((a & b).total() for a, b in zip(said, right, strict=True))
    total = sum(each.total() for each in (*said, *right))
    if total == 0:
        raise UserError("no tree has a phrase to score: write trees as (NP DT NN )NP")
    return 200 * common / total
