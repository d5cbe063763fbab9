"""An exercise of lesson 10: what a recurrent layer costs beside self-attention (Table 1)."""

from transformer.exercises.check import Exercise, Wrong


def my_saving(n: int, d: int) -> float:
    """Divide the recurrent layer's operations by self-attention's."""
    attention, recurrent = n * n * d, n * d * d
    return recurrent / attention


def upside_down(n: int, d: int) -> float:
    """Divide the other way."""
    return 1 / my_saving(n, d)


def saved_operations(n: int, d: int) -> float:
    """Subtract in place of dividing."""
    return float(n * d * d - n * n * d)


def width_squared(n: int, d: int) -> float:
    """Forget that self-attention's operations grow with the width too."""
    return my_saving(n, d) * d


def length_squared(n: int, d: int) -> float:
    """Forget that the recurrent layer's operations grow with the length too."""
    return my_saving(n, d) / n


def _by_length(n: int, d: int) -> float:
    """What is left when both are divided by n and by d."""
    return d / n


saving = Exercise(
    my_saving,
    minutes=5,
    difficulty="easy",
    hints=(
        "Table 1: self-attention takes n * n * d operations, the recurrent layer n * d * d.",
        "Divide the second by the first: under 1 means that the recurrent layer is cheaper.",
    ),
    worked=[((10, 100), 10.0), ((100, 10), 0.1), ((7, 7), 1.0)],
    cases=[(n, d) for n in (1, 2, 3, 4, 9, 16, 70, 512) for d in (1, 2, 4, 9, 64, 512)],
    expected=_by_length,
    wrong=[
        Wrong(upside_down, "This is how many times the recurrent layer's self-attention takes."),
        Wrong(saved_operations, "This is how many more. Asked for is how many *times* as many."),
        Wrong(width_squared, "Self-attention compares vectors of width d: d counts there too."),
        Wrong(length_squared, "The recurrent layer makes n steps: n counts there too."),
    ],
)
