"""Updates of the weights: the loss, Adam, and the learning rate of each step (§5.3, §5.4).

Not in the paper: clipping, and several batches for one update.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from transformer.config import TrainingConfig
from transformer.data.batches import Batch
from transformer.training.loss import batch_loss
from transformer.training.processes import ALONE, Processes
from transformer.training.schedule import learning_rate

BETA1 = 0.9  # §5.3
FACTOR = "rate_factor"  # of a group of parameters: multiplies the rate of each step; usually 1

MakeOptimizer = Callable[[nn.Module], Optimizer]
Rate = Callable[[int], float]


def adam(parameters: Iterable[nn.Parameter], config: TrainingConfig) -> Adam:
    """Make the paper's optimizer (§5.3); its rate is set anew for each step."""
    return Adam(parameters, lr=0.0, betas=(BETA1, config.beta2), eps=config.epsilon, fused=True)


class Updates:
    """Makes the updates of one model, which is on its device and as `processes.wrap` gave it.

    A GPU works behind the program, which waits whenever it reads a number. So the numbers of
    an update stay on the device until somebody asks for them.

    Args:
        model, config, d_model, processes, rate: As `loop.train` has them.
        make_optimizer: Makes another optimizer than Adam.
    """

    def __init__(
        self,
        model: nn.Module,
        config: TrainingConfig,
        d_model: int,
        processes: Processes = ALONE,
        *,
        make_optimizer: MakeOptimizer | None = None,
        rate: Rate | None = None,
    ) -> None:
        self.model, self.config, self.d_model, self.processes = model, config, d_model, processes
        self.device = next(model.parameters()).device
        self.optimizer: Optimizer = (
            make_optimizer(model) if make_optimizer else adam(model.parameters(), config)
        )
        self.rate = rate or self._configured_rate
        self._unread: list[tuple[int, Tensor, Tensor]] = []  # step, sum of the loss, norm

    def _configured_rate(self, step: int) -> float:
        """Give the fixed rate, or the paper's (§5.3)."""
        fixed, config = self.config.learning_rate, self.config
        if fixed is not None:
            return fixed
        return learning_rate(step, self.d_model, config.warmup_steps, config.learning_rate_factor)

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
        for batch in self.processes.share(group):
            sums = batch_loss(self.model, batch.to(self.device), self.config)
            # The mean of the processes' gradients is that of all tokens' mean loss.
            (sums.loss / (tokens / self.processes.size)).backward()
            nll += sums.nll
        norm = self._clip()
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = self.rate(step) * parameters.get(FACTOR, 1.0)
        self.optimizer.step()
        self._unread.append((step, nll, norm))
        return tokens

    def _clip(self) -> Tensor:
        """Give the norm of the gradient, and scale it down to the limit if there is one."""
        gradients = [each.grad for each in self.model.parameters() if each.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        if self.config.clip_norm:
            nn.utils.clip_grads_with_norm_(self.model.parameters(), self.config.clip_norm, norm)
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
