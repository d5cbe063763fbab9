"""Data known again by its digest."""

from pathlib import Path

import pytest

from transformer.data.batches import Example
from transformer.support.errors import UserError
from transformer.support.files import write_json
from transformer.training.fingerprint import fingerprint, require_same_data

EXAMPLES = [Example([5, 7], [11]), Example([13], [17, 19])]


@pytest.mark.parametrize(
    "others",
    [
        [],
        EXAMPLES[:1],
        EXAMPLES[::-1],
        [*EXAMPLES, EXAMPLES[1]],
        [Example([5, 7], [11]), Example([13], [17, 18])],
        [Example([5], [7, 11]), EXAMPLES[1]],
        [Example([57], [11]), EXAMPLES[1]],
        [Example([11], [5, 7]), EXAMPLES[1]],
    ],
)
def test_other_examples_have_another(others: list[Example]) -> None:
    assert fingerprint(others) != fingerprint(EXAMPLES)


def test_equal_examples_have_the_same_on_every_machine() -> None:
    copied = [Example([*src], [*tgt]) for src, tgt in EXAMPLES]
    assert fingerprint(iter(copied)) == fingerprint(EXAMPLES)
    assert fingerprint(EXAMPLES).startswith("6bae888d71fe85b7")


def test_what_differs_is_named(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    write_json(file, {"training": "aa", "validation": "bb"})
    require_same_data(file, {"training": "aa", "validation": "bb"})
    with pytest.raises(UserError, match="the training examples are not those that the run was beg"):
        require_same_data(file, {"training": "ab", "validation": "bb"})
    with pytest.raises(UserError, match=r"the validation examples .*put the corpus .*back"):
        require_same_data(file, {"training": "aa", "validation": "aa"})
