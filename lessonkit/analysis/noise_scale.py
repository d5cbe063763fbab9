"""How much a gradient owes to which sentences were drawn: what a larger batch can gain.

Not in the paper. The noise scale of McCandlish et al. 2018 (arXiv 1812.06162): the variance of
the gradient of a single unit, summed over all weights, over the squared length of the true
gradient. A batch of as many units has as much noise as signal. A larger one hardly points better,
a smaller one mostly points somewhere.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from transformer.config import TrainingConfig
from transformer.data.batches import Batch
from transformer.support.errors import UserError
from transformer.support.modes import evaluation_mode
from transformer.support.signatures import check_argument_types
from transformer.training.model_loss import batch_loss


class GradientNoise(NamedTuple):
    """What some batches tell of the gradient."""

    scale: float  # the noise scale, in tokens
    cosine: float  # mean cosine between the gradients of two batches
    tokens: float  # mean tokens of a batch
    single: float  # mean squared length of a batch's gradient
    joint: float  # squared length of the mean of all batches' gradients


@check_argument_types
def estimate_gradient_noise(model: nn.Module, batches: Sequence[Batch]) -> GradientNoise:
    """Estimate the noise scale from batches of about equal size.

    With squared lengths of the gradients of single batches, s on average, and of their mean, m,
    over n batches of t tokens: the true gradient's is (n m - s) / (n - 1), which owes nothing to
    the noise on average, and the noise of one token is t n (s - m) / (n - 1). There is no dropout;
    the two batches or more have no sentence in common.
    """
    n = len(batches)
    if n < 2:
        raise UserError(f"{n} batches: give two or more, to see how far they differ")
    # Without dropout: what it draws is not the sentences' doing.
    with evaluation_mode(model):
        gradients = [_flat_gradient(model, batch) for batch in batches]
    single = float(torch.stack([gradient.square().sum() for gradient in gradients]).mean())
    joint = float(torch.stack(gradients).mean(0).square().sum())
    signal = (n * joint - single) / (n - 1)
    if not 0 < signal < torch.inf:  # nor nan
        raise UserError(f"{n} batches tell no signal from the noise: give more, or larger ones")
    tokens = sum(batch.num_tgt_tokens for batch in batches) / n
    scale = tokens * n * (single - joint) / (n - 1) / signal
    directions = torch.stack([gradient / gradient.norm() for gradient in gradients])
    cosine = (float(directions.sum(0).square().sum()) - n) / (n * (n - 1))
    return GradientNoise(scale, cosine, tokens, single, joint)


def _flat_gradient(model: nn.Module, batch: Batch) -> Tensor:
    """Return the gradient of a batch's mean loss, all weights in one row."""
    sums = batch_loss(model, batch, TrainingConfig(label_smoothing=0.0))
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    gradients = torch.autograd.grad(sums.loss / batch.num_tgt_tokens, weights)
    return torch.cat([gradient.flatten() for gradient in gradients])
