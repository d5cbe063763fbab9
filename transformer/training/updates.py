"""Updates of the weights: the loss, and the learning rate of each step (§5.3, §5.4).

Not in the paper: clipping, weight decay, and several batches for one update.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from transformer.config import Decay, TrainingConfig
from transformer.data.batches import Batch
from transformer.training.distributed import Processes
from transformer.training.loss import batch_loss
from transformer.training.optimizers import make_optimizers, set_rate
from transformer.training.schedule import learning_rate, linear_decay_rate


class Updates:
    """Makes the updates of one model.

    A GPU works behind the program, which waits whenever it reads a number. So the numbers of
    an update stay on the device until somebody asks for them.

    Args:
        model: On its device.
        config: How to train.
        d_model: Width of the model, for the schedule.
        device: The model's.
        processes: Those that share each step's batches.

    Attributes:
        optimizers: Adam alone (§5.3), or Adam and Muon.
    """

    def __init__(
        self,
        model: nn.Module,
        config: TrainingConfig,
        d_model: int,
        device: torch.device,
        processes: Processes,
    ) -> None:
        self.model, self.config, self.d_model, self.device = model, config, d_model, device
        self.processes, self.wrapped = processes, processes.wrap(model)
        self.optimizers = make_optimizers(model, config, processes)
        self._unread: list[tuple[int, Tensor, Tensor]] = []  # step, sum of the loss, norm

    def rate(self, step: int) -> float:
        """Give the learning rate of a step, from 1."""
        config = self.config
        if config.learning_rate is not None:
            return config.learning_rate
        shape = self.d_model, config.warmup_steps, config.learning_rate_factor
        if config.decay == Decay.LINEAR:
            return linear_decay_rate(step, config.steps, *shape)
        return learning_rate(step, *shape)

    def make(self, step: int, group: Sequence[Batch]) -> int:
        """Make one step on the mean loss over all real tokens of some batches.

        Args:
            step: Its number, from 1.
            group: The batches, the same for every process; their gradients are summed.

        Returns:
            How many real target tokens they have.
        """
        tokens = sum(batch.num_tgt_tokens for batch in group)
        nll = torch.zeros((), device=self.device)
        self.model.zero_grad()
        self.processes.seed(self.config.seed, step)
        share = self.processes.share(group)
        for number, batch in enumerate(share, start=1):
            with self.processes.exchange(self.wrapped, now=number == len(share)):
                sums = batch_loss(self.wrapped, batch.to(self.device), self.config)
                # The mean of the processes' gradients is that of all tokens' mean loss.
                (sums.loss / (tokens / self.processes.size)).backward()
            nll += sums.nll
        norm = self._clip()
        set_rate(self.optimizers, self.rate(step))
        for optimizer in self.optimizers:
            optimizer.step()
        self._unread.append((step, nll, norm))
        return tokens

    def _clip(self) -> Tensor:
        """Give the norm of the gradient, and scale it down to the limit if there is one."""
        moved = [each for each in self.model.parameters() if each.grad is not None]
        norm = nn.utils.get_total_norm([each.grad for each in moved if each.grad is not None])
        if self.config.clip_norm:
            nn.utils.clip_grads_with_norm_(moved, self.config.clip_norm, norm)
        return norm

    def read(self) -> list[tuple[int, float, float]]:
        """Give the numbers of each step since they were last read.

        Returns:
            The step, the negative log likelihood summed over its real tokens (nats, without
            smoothing), and the norm of its gradient before clipping.
        """
        if not self._unread:
            return []
        steps, *columns = zip(*self._unread, strict=True)
        self._unread.clear()
        nlls, norms = (torch.stack(column).tolist() for column in columns)
        return list(zip(steps, self.processes.sum(nlls), norms, strict=True))
