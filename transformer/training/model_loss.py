"""The loss of a model on batches: in training, and on held-out text."""

from collections.abc import Callable, Iterable
from itertools import islice

import torch
from torch import Tensor, nn

from transformer.config import PAD_ID, TrainingConfig
from transformer.data.batches import Batch, micro_batches
from transformer.support.errors import UserError
from transformer.support.modes import evaluation_mode
from transformer.support.signatures import check_argument_types
from transformer.training import processes
from transformer.training.devices import Precision
from transformer.training.fast_loss import fast_label_smoothing_loss
from transformer.training.linear_loss import linear_label_smoothing_loss, output_layer_for_parts
from transformer.training.loss import LossSums


@check_argument_types
def batch_loss(
    model: Callable[..., Tensor],
    batch: Batch,
    config: TrainingConfig,
    precision: Precision = Precision.FLOAT32,
) -> LossSums:
    """Sum the loss of a model, `(src, tgt_in) -> logits`, on a batch that is on its device.

    `precision` is that of the model's matrix products; the loss is computed in float32. Many logits
    are computed in parts, if the model offers its hidden states (see `output_layer_for_parts`).
    """
    targets, smoothing = batch.tgt_out, config.label_smoothing
    with precision.autocast(batch.src.device):
        output = output_layer_for_parts(model, targets)
        if output is not None:
            hidden = model(batch.src, batch.tgt_in, return_hidden=True)  # (batch, tgt_len, width)
            return linear_label_smoothing_loss(
                hidden, output, targets, smoothing=smoothing, pad_id=PAD_ID
            )
        logits = model(batch.src, batch.tgt_in)  # (batch, tgt_len, vocab_size)
    return fast_label_smoothing_loss(logits, targets, smoothing=smoothing, pad_id=PAD_ID)


@check_argument_types
def validation_loss(
    model: nn.Module,
    batches: Iterable[Batch],
    *,
    device: torch.device | str = "cpu",
    precision: Precision = Precision.FLOAT32,
    micro_tokens: int | None = None,
) -> float:
    """Measure the mean loss without smoothing or dropout, nats per real token.

    Several processes share the batches, and all get the mean over all of them. At most
    `micro_tokens` tokens are computed at once; None: a batch.

    Raises:
        UserError: there are no tokens.
    """
    config = TrainingConfig(label_smoothing=0.0)
    total, tokens = 0.0, 0.0
    with evaluation_mode(model), torch.inference_mode():
        for batch in islice(batches, processes.rank(), None, processes.world_size()):
            for part in micro_batches(batch, micro_tokens):
                total += float(batch_loss(model, part.to(device), config, precision).nll)
            tokens += batch.num_tgt_tokens
    total, tokens = processes.all_reduce_sum([total, tokens])
    if tokens == 0:
        raise UserError("no validation tokens: give at least one batch with text")
    return total / tokens
