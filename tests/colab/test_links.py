"""Links and pictures: relative without an address, absolute with one, and back."""

import pytest
from stamping.links import relinked

RELATIVE = (
    "![The model](../figures/a.png) of [data/README.md](../data/README.md#ours), then\n"
    "[01 Text to\nbatches](01_text.ipynb); `[code](stays.md)`, [below](#here) and\n"
    "[the paper](https://arxiv.org/abs/1706.03762), [mail](mailto:a@b.org)."
)
ABSOLUTE = (
    "![The model](https://raw.githubusercontent.com/me/it/main/figures/a.png) of "
    "[data/README.md](https://github.com/me/it/blob/main/data/README.md#ours), then\n"
    "[01 Text to\nbatches](https://github.com/me/it/blob/main/notebooks/01_text.ipynb); "
    "`[code](stays.md)`, [below](#here) and\n"
    "[the paper](https://arxiv.org/abs/1706.03762), [mail](mailto:a@b.org)."
)


def test_links_become_absolute_and_relative_again() -> None:
    assert relinked(RELATIVE, "me/it", None, "notebooks") == ABSOLUTE
    assert relinked(ABSOLUTE, None, "me/it", "notebooks") == RELATIVE
    assert relinked(RELATIVE, None, None, "notebooks") == RELATIVE


def test_another_address_takes_the_place_of_the_old_one() -> None:
    assert relinked(ABSOLUTE, "fork/it", "me/it", "notebooks") == ABSOLUTE.replace("me/", "fork/")
    assert relinked(ABSOLUTE, "me/it", "me/it", "notebooks") == ABSOLUTE


@pytest.mark.parametrize("other", ["you/it", None])
def test_links_to_other_repositories_stay(other: str | None) -> None:
    assert relinked(ABSOLUTE, None, other, "notebooks") == ABSOLUTE
