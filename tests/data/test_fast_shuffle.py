"""The shuffle by numpy: Python's order, and Python's generator afterwards."""

import random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from transformer.data.fast_shuffle import shuffled_numbers

# Powers of two are where the numbers of a shuffle have a bit more.
COUNTS = st.integers(0, 40) | st.integers(0, 11).flatmap(
    lambda power: st.integers(max(0, 2**power - 2), 2**power + 2)
)


@settings(deadline=None, derandomize=True, max_examples=40)
@example("2017 6", 0, 60_013)
@given(st.text(max_size=5), st.integers(0, 700), COUNTS)
def test_the_order_and_the_generator_are_those_of_python(
    seed: str, drawn_before: int, count: int
) -> None:
    generators = [random.Random(seed) for _ in range(2)]
    for generator in generators:
        generator.getrandbits(32 * drawn_before + 1)
    expected = list(range(count))
    generators[0].shuffle(expected)
    assert shuffled_numbers(generators[1], count).tolist() == expected
    assert generators[0].getstate() == generators[1].getstate()
