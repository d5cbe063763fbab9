"""Two exercises of lesson 05: a smoothed target (§5.4), and the mean loss per token."""

import math

import numpy as np
import torch
from torch import Tensor

from transformer.exercises.check import Exercise, Property, Wrong


def my_smoothed_target(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Give the probability asked for of every type; nothing for padding."""
    if true_id == pad_id:
        return [0.0] * vocab_size
    target = [smoothing / (vocab_size - 2)] * vocab_size
    target[pad_id] = 0.0
    target[true_id] = 1 - smoothing
    return target


def mass_on_padding(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Give padding its share too."""
    if true_id == pad_id:
        return [0.0] * vocab_size
    target = [smoothing / (vocab_size - 1)] * vocab_size
    target[true_id] = 1 - smoothing
    return target


def over_every_type(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Use the other form."""
    if true_id == pad_id:
        return [0.0] * vocab_size
    target = [smoothing / vocab_size] * vocab_size
    target[true_id] += 1 - smoothing
    return target


def some_mass_lost(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Count padding among those that share, and then give it nothing."""
    if true_id == pad_id:
        return [0.0] * vocab_size
    target = [smoothing / (vocab_size - 1)] * vocab_size
    target[pad_id] = 0.0
    target[true_id] = 1 - smoothing
    return target


def padding_is_asked_for(
    true_id: int, vocab_size: int, smoothing: float, pad_id: int
) -> list[float]:
    """Let a place of padding ask for something."""
    target = [smoothing / (vocab_size - 2)] * vocab_size
    target[pad_id] = 0.0
    target[true_id] = 1 - smoothing
    return target


def all_or_nothing(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Do not smooth at all."""
    return my_smoothed_target(true_id, vocab_size, 0.0, pad_id)


def _by_mixing(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Mix two distributions: the truth alone, and an even one over what is neither."""
    ids = np.arange(vocab_size)
    truth = (ids == true_id).astype(float)
    rest = ((ids != true_id) & (ids != pad_id)).astype(float)
    mixed = (1 - smoothing) * truth + smoothing * rest / rest.sum()
    return [float(share) for share in mixed * (true_id != pad_id)]


smoothed_target = Exercise(
    my_smoothed_target,
    minutes=10,
    difficulty="medium",
    hints=(
        "How many types share the smoothing? All but two.",
        "The true type gets 1 - smoothing, padding 0, and each of the others "
        "smoothing / (vocab_size - 2).",
        "If true_id == pad_id, give a list of zeros. Else begin with a list of equal shares, "
        "then set two of its places.",
    ),
    worked=[
        ((2, 5, 0.3, 0), [0.0, 0.1, 0.7, 0.1, 0.1]),
        ((0, 3, 0.1, 0), [0.0, 0.0, 0.0]),
    ],
    cases=[
        (true_id, vocab_size, smoothing, pad_id)
        for vocab_size in (3, 4, 7)
        for true_id in range(vocab_size)
        for smoothing in (0.0, 0.1, 0.4)
        for pad_id in (0, 2)
    ],
    expected=_by_mixing,
    wrong=[
        Wrong(
            mass_on_padding,
            "You ask for some padding. The model must never say it: leave it out of those that "
            "share.",
        ),
        Wrong(
            over_every_type,
            "This is the other form, over every type: the true one gets a share on top and "
            "padding gets one too. Here neither shares.",
        ),
        Wrong(
            some_mass_lost,
            "These probabilities do not sum to 1. By how many must the smoothing be divided "
            "if the true type and padding get none of it?",
        ),
        Wrong(
            padding_is_asked_for,
            "Where the true type is padding, there is nothing to learn: every place of the "
            "target must be 0.",
        ),
        Wrong(
            all_or_nothing,
            "All is on the true type: that is the target without smoothing.",
        ),
    ],
    properties=[
        Property(
            "a target sums to 1, or to 0 at padding",
            lambda value, true_id, vocab_size, smoothing, pad_id: math.isclose(
                sum(value), true_id != pad_id, abs_tol=1e-6
            ),
        )
    ],
)


Losses = list[tuple[Tensor, Tensor]]


def my_loss_per_token(batches: Losses, pad_id: int) -> float:
    """Average the losses of all real tokens of all batches."""
    total, tokens = 0.0, 0
    for losses, targets in batches:
        real = targets != pad_id
        total += float(losses[real].sum())
        tokens += int(real.sum())
    return total / tokens


def padding_counts(batches: Losses, pad_id: int) -> float:
    """Average over padding as well."""
    return my_loss_per_token(batches, -1)


def padding_in_the_divisor(batches: Losses, pad_id: int) -> float:
    """Leave padding out of the sum, but not out of the count."""
    total = sum(float(losses[targets != pad_id].sum()) for losses, targets in batches)
    return total / sum(targets.numel() for _, targets in batches)


def mean_of_batch_means(batches: Losses, pad_id: int) -> float:
    """Let every batch count the same."""
    return sum(my_loss_per_token([batch], pad_id) for batch in batches) / len(batches)


def mean_of_sentence_means(batches: Losses, pad_id: int) -> float:
    """Let every sentence count the same."""
    rows = [row for batch in batches for row in zip(*batch, strict=True)]
    return sum(my_loss_per_token([row], pad_id) for row in rows) / len(rows)


def sum_of_losses(batches: Losses, pad_id: int) -> float:
    """Forget to divide."""
    tokens = sum(int((targets != pad_id).sum()) for _, targets in batches)
    return my_loss_per_token(batches, pad_id) * tokens


def _weighted(batches: Losses, pad_id: int) -> float:
    """Let numpy average one long row, with weight 1 for a real token and 0 for padding."""
    losses = np.concatenate([losses.double().numpy().ravel() for losses, _ in batches])
    targets = np.concatenate([targets.numpy().ravel() for _, targets in batches])
    return float(np.average(losses, weights=targets != pad_id))


def _losses() -> list[tuple[Losses, int]]:
    """One batch and more, of rows with and without padding, small ones first."""
    one = (torch.tensor([[1.0, 3.0]]), torch.tensor([[7, 0]]))
    full = (torch.tensor([[2.0, 4.0]]), torch.tensor([[7, 8]]))
    rows = (torch.tensor([[1.0, 2.0], [6.0, 5.0]]), torch.tensor([[7, 8], [7, 0]]))
    cases: list[tuple[Losses, int]] = [([one], 0), ([full], 0), ([one, full], 0), ([rows], 0)]
    cases.append(([(torch.tensor([[1.0, 2.0, 6.0]]), torch.tensor([[5, 0, 1]]))], 1))
    cases.append(([(torch.tensor([[0.0, 3.0]]), torch.tensor([[7, 8]]))], 0))  # sure, and right
    generator = torch.Generator().manual_seed(0)
    large = []
    for batch, tgt_len in ((2, 5), (3, 7)):
        targets = torch.randint(0, 4, (batch, tgt_len), generator=generator)
        targets[:, 0] = 1  # no sentence is empty
        large.append((torch.rand(batch, tgt_len, generator=generator), targets))
    return [*cases, (large, 0)]


loss_per_token = Exercise(
    my_loss_per_token,
    minutes=10,
    difficulty="easy",
    hints=(
        "A mean is a sum over a count. Keep both running over all batches, and divide once.",
        "real = targets != pad_id says which places count; losses[real] are their losses.",
        "Add losses[real].sum() to the total and real.sum() to the count, batch by batch.",
    ),
    worked=[
        (
            ([(torch.tensor([[2.0, 9.0]]), torch.tensor([[5, 0]]))], 0),
            2.0,
        ),
        (
            (
                [
                    (torch.tensor([[1.0]]), torch.tensor([[5]])),
                    (torch.tensor([[3.0, 5.0]]), torch.tensor([[5, 6]])),
                ],
                0,
            ),
            3.0,
        ),
    ],
    cases=_losses(),
    expected=_weighted,
    wrong=[
        Wrong(
            padding_counts,
            "Padding is in your mean, in the sum and in the count. How many targets of the case "
            "are real?",
        ),
        Wrong(
            padding_in_the_divisor,
            "Your sum leaves padding out, but your count does not: the more padding, the "
            "better the model would look.",
        ),
        Wrong(
            mean_of_batch_means,
            "You averaged the means of the batches. A batch of few tokens then counts as much "
            "as one of many: keep sums and counts until the end.",
        ),
        Wrong(
            mean_of_sentence_means,
            "You averaged the means of the sentences. A token of a short sentence then counts "
            "for more than one of a long sentence.",
        ),
        Wrong(
            sum_of_losses,
            "This is the sum. It grows with the text: divide it by the number of real tokens.",
        ),
    ],
)
