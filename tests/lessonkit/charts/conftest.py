"""Pictures without a screen: axes to draw on, and no figure that stays open."""

from collections.abc import Iterator

import matplotlib

matplotlib.use("Agg")

import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes


@pytest.fixture(autouse=True)
def _no_figure_stays() -> Iterator[None]:
    plt.close("all")
    yield
    plt.close("all")


@pytest.fixture
def ax() -> Axes:
    """Axes of a new figure."""
    return plt.figure().add_subplot()
