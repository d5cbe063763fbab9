"""An exercise of lesson 05: the mean loss per token."""

import numpy as np
import torch
from torch import Tensor

from transformer.exercises.check import Exercise, Wrong

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
    return float(torch.cat([losses.flatten() for losses, _ in batches]).mean())


def padding_in_the_divisor(batches: Losses, pad_id: int) -> float:
    """Leave padding out of the sum, but not out of the count."""
    total = sum(float(losses[targets != pad_id].sum()) for losses, targets in batches)
    return total / sum(targets.numel() for _, targets in batches)


def mean_of_batch_means(batches: Losses, pad_id: int) -> float:
    """Let every batch count the same."""
    means = [float(losses[targets != pad_id].mean()) for losses, targets in batches]
    return sum(means) / len(means)


def mean_of_sentence_means(batches: Losses, pad_id: int) -> float:
    """Let every sentence count the same."""
    rows = [row for batch in batches for row in zip(*batch, strict=True)]
    means = [float(losses[targets != pad_id].mean()) for losses, targets in rows]
    return sum(means) / len(means)


def sum_of_losses(batches: Losses, pad_id: int) -> float:
    """Forget to divide."""
    return sum(float(losses[targets != pad_id].sum()) for losses, targets in batches)


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
