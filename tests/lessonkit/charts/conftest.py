"""Pictures without a screen: axes to draw on; no figure stays open, no renderer enabled."""

from collections.abc import Iterator

import altair as alt
import matplotlib

matplotlib.use("Agg")

import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    before = alt.renderers.active
    plt.close("all")
    yield
    plt.close("all")
    alt.renderers.enable(before)


@pytest.fixture
def ax() -> Axes:
    """Axes of a new figure."""
    return plt.figure().add_subplot()
