"""What layers read has the size of the words, or is levelled by a norm (not in the paper).

Norms that are functions and no modules are tried so: embeddings are changed on their way.
"""

from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attention_laws.law import law
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject
from attention_laws.torch_calls import MULTI_HEAD_ATTENTION_CALL_NAME, PRODUCT_CALL_NAMES

LAW_MODULE_SORT_KEY = 76
SRC_LEN, TGT_LEN = 7, 5
ENLARGEMENT = 10.0  # of the words
# Bounds of how much larger maps then read; positions that are added keep it below ten times.
MIN_SIZE_RATIO, MAX_FIRST_SIZE_RATIO = 0.3, 12.0
# Root mean squares of words; the first two are read alike behind a norm, the third nearly so.
LARGE_WORDS, UNIT_WORDS, SMALL_WORDS, SMALLEST_WORDS = 10.0, 1.0, 0.3, 0.1
MAX_RELATIVE_CHANGE_FROM_LARGE, MAX_RELATIVE_CHANGE_TO_SMALL = 0.02, 0.03
MAX_EPSILON_MISFIT = 0.05  # of the size at which the smallest words are read


@law()
def scale_of_words_is_not_amplified(subject: Subject) -> Finding:
    """Words ten times as large are read ten times as large, or as large as before.

    Means: a norm multiplies where it should divide, or divides by a square: what layers read then
    shrinks or explodes with the words, and no norm levels it
    Look: at what each norm divides by, also where it is a function and no module
    How: The first map of a side reads words as they are, or behind a norm; a later one may read
    products, but nothing that shrinks.
    """
    src, tgt_in = subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN)
    plain = _sizes_read_by_maps(subject, src, tgt_in)
    with _EmbeddingResizer(factor=ENLARGEMENT):
        enlarged = _sizes_read_by_maps(subject, src, tgt_in)
    if not plain or [length for length, _ in plain] != [length for length, _ in enlarged]:
        return not_tried_finding("no map was seen that reads what embeddings give")
    first_of_side = {length: number for number, (length, _) in reversed([*enumerate(plain)])}
    # Without maps that read zeros, as behind a map that begins as zeros.
    ratios = {
        number: large / size
        for number, ((_, size), (_, large)) in enumerate(zip(plain, enlarged, strict=True))
        if size
    }
    if all(abs(ratio - 1) < 1e-6 for ratio in ratios.values()):
        return not_tried_finding("no torch embedding is called")
    for number, ratio in ratios.items():
        is_first = number in first_of_side.values()
        seen = f"with words {ENLARGEMENT:g} times as large map {number + 1} reads {ratio:.3g} times"
        if ratio < MIN_SIZE_RATIO or (is_first and ratio > MAX_FIRST_SIZE_RATIO):
            return broken_finding(f"{seen} as much")
    sizes = f"{min(ratios.values()):.2g} to {max(ratios.values()):.2g} times"
    return kept_finding(f"words {ENLARGEMENT:g} times as large are read {sizes} as large")


@law(compares=False)
def norms_level_small_words(subject: Subject) -> Finding:
    """A norm that levels large words levels words of a third of unit size too.

    Means: the epsilon is too large, or is added elsewhere: small inputs stay small
    Look: at the epsilon of the norm before the first layer
    How: Still smaller words must shrink as an epsilon makes them, and not as beside positions.
    """
    src, tgt_in = subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN)
    sizes = [
        first_sizes_read_by_maps(subject, src, tgt_in, size)
        for size in (LARGE_WORDS, UNIT_WORDS, SMALL_WORDS, SMALLEST_WORDS)
    ]
    if not sizes[0] or not all(each.keys() == sizes[0].keys() for each in sizes):
        return not_tried_finding("no map was seen that reads what embeddings give")
    levelled = 0
    for length in sizes[0]:
        large, unit, small, smallest = (each[length] for each in sizes)
        if not unit or abs(large / unit - 1) > MAX_RELATIVE_CHANGE_FROM_LARGE:
            continue
        levelled += 1
        if small / unit < 1 - MAX_RELATIVE_CHANGE_TO_SMALL and _fits_an_epsilon(
            small / unit, smallest / unit
        ):
            seen = f"words of size {SMALL_WORDS:g} are read at {small / unit:.2g} of the size of"
            side = "source" if length == SRC_LEN else "target"
            return broken_finding(f"{seen} those of size 1, by the first map of the {side}")
    if not levelled:
        return not_tried_finding("no norm stands between words and the first map")
    return kept_finding(f"{levelled} first maps read words of size {SMALL_WORDS:g} as those of 1")


def _fits_an_epsilon(small: float, smallest: float) -> bool:
    """Return whether an epsilon explains both sizes, in the root or added to it."""
    small = max(small, 1e-6)
    in_root = SMALL_WORDS**2 * (1 / small**2 - 1)
    added = SMALL_WORDS * (1 / small - 1)
    expected = (
        SMALLEST_WORDS / (SMALLEST_WORDS**2 + in_root) ** 0.5,
        SMALLEST_WORDS / (SMALLEST_WORDS + added),
    )
    return any(abs(smallest / size - 1) <= MAX_EPSILON_MISFIT for size in expected)


@law("pad_id", compares=False)
def zero_words_give_finite_logits(subject: Subject) -> Finding:
    """Where all words are zero, as the embedding of padding is, logits are finite.

    Means: a norm divides by 0: its epsilon is missing, is subtracted, or is added too late. Where
    words are kept at length one, as in nGPT, none may be needed: accept it in a baseline
    Look: at what each norm divides by, and at the root that it takes
    How: Where there is no padding no word is zero.
    """
    src, tgt_in = subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN)
    with _EmbeddingResizer(factor=0.0) as resizer:
        logits = subject.logits(src, tgt_in)
    if not resizer.count:
        return not_tried_finding("no torch embedding is called")
    if not bool(logits.isfinite().all()):
        count = int((~logits.isfinite()).sum())
        seen = f"{count} of {logits.numel()} logits are not finite"
        return broken_finding(f"with embeddings of zeros {seen}")
    return kept_finding(f"with {resizer.count} embeddings of zeros all logits are finite")


class _EmbeddingResizer(TorchFunctionMode):
    """Multiply what embeddings return in a block, or bring it to a root mean square."""

    def __init__(self, *, factor: float = 1.0, size: float | None = None) -> None:
        super().__init__()
        self.factor, self.size = factor, size
        self.count = 0  # of embeddings

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") != "embedding":
            return output
        self.count += 1
        if self.size is None:
            return output * self.factor
        return output * (self.size / output.square().mean().sqrt().clamp(min=1e-12))


def first_sizes_read_by_maps(
    subject: Subject, src: Tensor, tgt_in: Tensor, size: float
) -> dict[int, float]:
    """Return what the first map of each side reads if words have a size, by the side's length."""
    with _EmbeddingResizer(size=size) as resizer:
        read = _sizes_read_by_maps(subject, src, tgt_in)
    return dict(reversed(read)) if resizer.count else {}


def _sizes_read_by_maps(subject: Subject, src: Tensor, tgt_in: Tensor) -> list[tuple[int, float]]:
    """Return length and size of what each map of a pass reads that is as wide as the words."""
    calls = subject.torch_calls_of_forward(src, tgt_in)
    hidden = [
        arg
        for call in calls
        if call.name in ("linear", MULTI_HEAD_ATTENTION_CALL_NAME, *PRODUCT_CALL_NAMES)
        for arg in call.args
        if isinstance(arg, Tensor) and not isinstance(arg, nn.Parameter) and arg.dim() >= 3
    ]
    lengths = {SRC_LEN, TGT_LEN}
    # The features of a head may have an axis of their own, before or after the positions.
    read = [x for x in hidden if x.is_floating_point() and len(lengths & {*x.shape[:-1]}) == 1]
    width = read[0].shape[-1] if read else 0
    return [
        (min(lengths & {*x.shape[:-1]}), float(x.square().mean().sqrt()))
        for x in read
        if x.shape[-1] == width
    ]
