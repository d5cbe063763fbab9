"""Record the dropout of a pass in training, and what it acts on (not in the paper)."""

from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from attention_laws.torch_calls import (
    EXPONENTS_BY_SCALING_CALL,
    FACTOR_PRESERVING_CALL_NAMES,
    FUSED_ATTENTION_CALL_NAME,
    MULTI_HEAD_ATTENTION_CALL_NAME,
)

ADDING_CALL_NAMES = {"add", "radd", "iadd"}
# Place of the rate among the arguments of each call that may drop attention weights.
PLACES_OF_RATES = {FUSED_ATTENTION_CALL_NAME: 4, MULTI_HEAD_ATTENTION_CALL_NAME: 10}
DEFAULT_RATE = 0.5  # torch's, where a call names none
# Calls after which a tensor is still weights, or the embeddings, or the output of a dropout.
KIND_PRESERVING_CALL_NAMES = {
    *FACTOR_PRESERVING_CALL_NAMES,
    *EXPONENTS_BY_SCALING_CALL,
    *("to", "type", "type_as", "float", "double", "half", "bfloat16", "masked_fill", "where"),
}
NORM_CALL_NAMES = {"layer_norm", "rms_norm"}


class DropoutRecorder(TorchFunctionMode):
    """Record the dropout of a block, on attention weights, on embeddings and elsewhere.

    What a tensor is, is known from call to call: weights of attention, embeddings, or the output of
    a dropout that no residual path has added yet.
    """

    def __init__(self, batch: int, lengths: set[int]) -> None:
        """Expect hidden states of so many sentences, and of these numbers of positions."""
        super().__init__()
        self.batch, self.lengths = batch, lengths
        self.widths: set[int] = set()  # of embeddings
        self.rates: list[float] = []  # of each dropout of hidden states that acts
        # Of others, such as that between the maps of a feed-forward.
        self.inner_rates: list[float] = []
        self.num_attentions = 0
        self.attention_rates: list[float] = []
        self.num_embedding_dropouts = 0
        # The residual sums without a dropout on what is added, by number.
        self.sums_without_dropout: set[int] = set()
        self._num_sums = 0
        # The tensors are kept, so that no other gets the id of one.
        self._kinds: dict[int, tuple[Tensor, frozenset[Any]]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        output = func(*args, **options)
        name = getattr(func, "__name__", "").strip("_")
        if name in PLACES_OF_RATES:
            self._record_whole_attention(name, args, options)
        elif isinstance(output, Tensor):
            kinds = self._kinds_of_output(name, args, options, output)
            # What is changed in place is the same tensor, of which another may be true.
            if kinds or id(output) in self._kinds:
                self._kinds[id(output)] = (output, kinds)
        return output

    def _kinds_of(self, value: Any) -> frozenset[Any]:
        return self._kinds.get(id(value), (None, frozenset()))[1]

    def _record_whole_attention(self, name: str, args: Any, options: Any) -> None:
        place = PLACES_OF_RATES[name]
        rate = args[place] if len(args) > place else options.get("dropout_p", 0.0)
        self.num_attentions += 1
        if rate and options.get("training", True):
            self.attention_rates.append(float(rate))

    def _kinds_of_output(
        self, name: str, args: Any, options: Any, output: Tensor
    ) -> frozenset[Any]:
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        kinds = frozenset().union(*(self._kinds_of(x) for x in tensors)) if tensors else frozenset()
        if name == "embedding":
            self.widths.add(output.shape[-1])
            return frozenset(("embedding",))
        if name == "softmax" and output.dim() > 2 and set(output.shape[-2:]) <= self.lengths:
            self.num_attentions += 1
            return frozenset(("weights",))
        if name == "dropout":
            return self._record_dropout(args, options, kinds, output)
        if name in ADDING_CALL_NAMES and len(tensors) == 2:
            return self._record_sum(tensors, kinds, output)
        if name in NORM_CALL_NAMES:
            # A norm may stand between the embeddings and their dropout, as in BERT.
            return kinds & {"embedding"}
        return kinds if name in KIND_PRESERVING_CALL_NAMES else frozenset()

    def _record_dropout(
        self, args: Any, options: Any, kinds: frozenset[Any], output: Tensor
    ) -> frozenset[Any]:
        """Record a dropout; what comes of embeddings is none of a sub-layer's output."""
        rate = args[1] if len(args) > 1 else options.get("p", DEFAULT_RATE)
        # F.dropout says `training`, torch.dropout `train`.
        is_training = options.get("training", options.get("train", True))
        if not (rate and (args[2] if len(args) > 2 else is_training)):
            return kinds
        if "weights" in kinds:
            self.attention_rates.append(float(rate))
            return kinds
        if not ("embedding" in kinds or self._is_hidden(output)):
            self.inner_rates.append(float(rate))
            return frozenset()
        self.rates.append(float(rate))
        # A sum of several outputs may be dropped as a whole.
        self.sums_without_dropout -= kinds
        if "embedding" in kinds:
            self.num_embedding_dropouts += 1
            return frozenset()
        return frozenset((("dropped", len(self.rates)),))

    def _record_sum(
        self, tensors: list[Tensor], kinds: frozenset[Any], output: Tensor
    ) -> frozenset[Any]:
        """Record a sum of two hidden states; it uses up one dropout of what is added."""
        are_hidden = all(x.shape == output.shape and self._is_hidden(x) for x in tensors)
        if not are_hidden or all("embedding" in self._kinds_of(x) for x in tensors):
            return kinds
        dropped = sorted(kind for kind in kinds if isinstance(kind, tuple))
        if dropped:
            return frozenset(dropped[1:])
        self._num_sums += 1
        self.sums_without_dropout.add(self._num_sums)
        # It may be words and positions that were looked up otherwise, and are dropped next.
        return frozenset((self._num_sums, *(kinds & {"embedding"})))

    def _is_hidden(self, x: Tensor) -> bool:
        return (
            x.dim() == 3
            and x.shape[-1] in self.widths
            and any(sorted(x.shape[:2]) == sorted((self.batch, length)) for length in self.lengths)
        )
