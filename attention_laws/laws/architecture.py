"""How parts are connected: feed-forward, residual paths, tied weights (§3.1 to §3.4, §5.4)."""

from collections import Counter, defaultdict
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from attention_laws.law import law
from attention_laws.laws.gradients import format_first_parameter_names
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
)
from attention_laws.subject import Subject, retry_check_with_zero_weights_drawn
from attention_laws.torch_calls import (
    FUSED_ATTENTION_CALL_NAME,
    MULTI_HEAD_ATTENTION_CALL_NAME,
    TorchCall,
    TorchCallRecorder,
)

LAW_MODULE_SORT_KEY = 70
SRC_LEN, TGT_LEN = 7, 5


def _draw_src_and_tgt_in(subject: Subject) -> tuple[Tensor, Tensor]:
    return subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN)


@law()
def feed_forward_is_nonlinear(subject: Subject) -> Finding:
    """Between the two linear maps of a feed-forward network stands a nonlinearity.

    Means: the activation was left out, or its result is not used: two linear maps are one
    Look: at what stands between the two nn.Linear of the feed-forward network
    """
    calls = subject.torch_calls_of_forward(*_draw_src_and_tgt_in(subject))
    linear_calls = [call for call in calls if call.name == "linear"]
    if not linear_calls:
        return not_tried_finding("no nn.Linear and no F.linear was called")
    reader_counts = Counter(call.args[0].data_ptr() for call in linear_calls)
    by_output = {call.output.data_ptr(): call for call in linear_calls}
    for call in linear_calls:
        previous = by_output.get(call.args[0].data_ptr())
        if previous is None or previous is call:
            continue
        # Several maps read this output, as queries, keys and values do.
        if reader_counts[previous.output.data_ptr()] > 1:
            continue
        width_in, inner = previous.args[0].shape[-1], previous.output.shape[-1]
        width_out = call.output.shape[-1]
        # A narrower inner width is a low-rank map, which is sound.
        if width_in <= inner >= width_out:
            seen = f"a linear map {width_in} -> {inner} is followed by one to {width_out}"
            return broken_finding(f"{seen}, with nothing between")
    return kept_finding(
        f"of {len(linear_calls)} maps none undoes the width of the one just before it"
    )


@law()
@retry_check_with_zero_weights_drawn
def residual_paths_carry_the_input(subject: Subject) -> Finding:
    """With the inner maps of all layers zero, the residual paths still carry each token through.

    Means: a residual connection is missing, or adds something else than the layer's input
    Look: at each layer's `x + sublayer(x)`
    How: Zero what layers compute on one side; another token there must still change the logits.
    """
    src, tgt_in = _draw_src_and_tgt_in(subject)
    calls, seen = subject.torch_calls_of_forward(src, tgt_in), []
    for side, ids, position in (("encoder", src, 2), ("decoder", tgt_in, TGT_LEN - 1)):
        numbers = _call_numbers_after_first_attention(calls, side, subject.adapter.tgt_vocab_size)
        if not numbers:
            continue
        other = subject.with_other_token(ids, position)
        changed = (other, tgt_in) if ids is src else (src, other)
        logits = _logits_with_zeroed_calls(subject, numbers, src, tgt_in)
        moves = (logits - _logits_with_zeroed_calls(subject, numbers, *changed)).abs()
        if not float(moves[:, -1].max()) > 1e-6 * subject.scale:
            inputs = f"with {len(numbers)} inner maps zero another token at position {position}"
            return broken_finding(f"{inputs} changes nothing", **{side: ids[0]})
        seen.append(f"{len(numbers)} of the {side}")
    if not seen:
        return not_tried_finding("no attention and no linear maps after it were seen")
    return kept_finding(f"with inner maps zero ({', '.join(seen)}) tokens still change the logits")


def _logits_with_zeroed_calls(
    subject: Subject, numbers: set[int], src: Tensor, tgt_in: Tensor
) -> Tensor:
    """Return the logits if the calls of these numbers return zeros."""

    def zero(number: int, output: Tensor) -> Tensor:
        return output * 0 if number in numbers else output

    with TorchCallRecorder(zero):
        return subject.logits(src, tgt_in)


def _call_numbers_after_first_attention(
    calls: list[TorchCall], side: str, vocab_size: int
) -> set[int]:
    """Return the numbers of a side's maps inside layers: those after its first attention.

    The last attention is followed by its output map and the two of the feed-forward network.
    """
    length = SRC_LEN if side == "encoder" else TGT_LEN
    decoder_calls = [
        i for i, call in enumerate(calls) if _torch_call_covers_all_positions(call, TGT_LEN)
    ]
    end = decoder_calls[0] if side == "encoder" and decoder_calls else len(calls)
    inner: list[int] = []
    # How many there were at the last attention; None before the first.
    at_last_attention = None
    for i, call in enumerate(calls[:end]):
        is_output = call.name == "linear" and call.output.shape[-1] == vocab_size
        if is_output or not _torch_call_covers_all_positions(call, length):
            continue
        if call.name in ("softmax", FUSED_ATTENTION_CALL_NAME, MULTI_HEAD_ATTENTION_CALL_NAME):
            at_last_attention = len(inner)
        is_linear_inside = call.name == "linear" and at_last_attention is not None
        if call.name == MULTI_HEAD_ATTENTION_CALL_NAME or is_linear_inside:
            inner.append(i)
    return set(inner[: (at_last_attention or 0) + 3])


def _torch_call_covers_all_positions(call: TorchCall, length: int) -> bool:
    """Return whether a call computes something for each position of a side of this length."""
    if call.name == "linear":
        return length in call.args[0].shape[:-1]
    if call.name == "softmax":
        return call.args[0].dim() > 2 and call.args[0].shape[-2] == length
    if call.name == FUSED_ATTENTION_CALL_NAME:
        return call.args[0].shape[-2] == length
    return call.name == MULTI_HEAD_ATTENTION_CALL_NAME and length in call.args[0].shape[:2]


@law("module")
def layers_do_not_share_weights(subject: Subject) -> Finding:
    """Each layer has weights of its own: no module is used in two places.

    Means: one object stands in several places (`[layer] * n`, one norm for all), where copies
    were meant; or it is so on purpose, as in ALBERT: then accept it
    Look: at where the module that is named is made, and how often
    """
    inputs_of: dict[nn.Module, list[Tensor]] = defaultdict(list)

    def record(part: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        first = inputs[0] if inputs else None
        if isinstance(first, Tensor) and first.is_floating_point() and first.dim() > 2:
            is_whole_sentence = {SRC_LEN, TGT_LEN} & set(first.shape[:-1])
            if is_whole_sentence and not any(torch.equal(first, x) for x in inputs_of[part]):
                inputs_of[part].append(first.clone())

    parts = {
        part: name
        for name, part in subject.module.named_modules()
        if list(part.parameters(recurse=False)) and not isinstance(part, nn.Embedding)
    }
    with hooks_removed_afterwards(part.register_forward_pre_hook(record) for part in parts):
        subject.logits(*_draw_src_and_tgt_in(subject))
    # Names of one module under one parent, as [layer] * n has them.
    names_of: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name, part in _yield_modules_by_all_names(subject.module):
        if part in parts:
            names_of[id(part), name.rpartition(".")[0]].append(name)
    shared = [" = ".join(names[:3]) for names in names_of.values() if len(names) > 1]
    for part, inputs in inputs_of.items():
        if len(inputs) > 1:
            shared.append(f"{parts[part]} ({len(inputs)} times)")
    if shared:
        return broken_finding(
            f"in one pass {len(shared)} modules are used in several places: {shared[0]}"
        )
    return kept_finding(f"each of {len(inputs_of)} modules with parameters is used once in a pass")


@law("module", compares=False)
def declared_weights_are_tied(subject: Subject) -> Finding:
    """Matrices that are declared to be tied are one tensor.

    Means: one was copied, or tied before it was assigned anew: they diverge once they are trained
    Look: at where they are tied, and at what is assigned to them afterwards
    """
    module = subject.module
    if not subject.adapter.declared_tied:
        tied = ["=".join(names) for names in find_tied_parameter_names(module)]
        return not_tried_finding(
            f"none are declared as tied; found tied: {format_first_parameter_names(tied) or 'none'}"
        )
    for group in subject.adapter.declared_tied:
        weights = [module.get_parameter(name) for name in group]
        for name, weight in zip(group[1:], weights[1:], strict=True):
            if weight is not weights[0]:
                is_copy = weight.shape == weights[0].shape and torch.equal(weight, weights[0])
                how = "a copy, equal only now" if is_copy else "another matrix"
                return broken_finding(f"{name} is to be {group[0]} and is {how}")
    return kept_finding("; ".join(" = ".join(group) for group in subject.adapter.declared_tied))


def find_tied_parameter_names(module: nn.Module) -> list[list[str]]:
    """Return the names of each parameter that has more than one."""
    names: dict[int, list[str]] = defaultdict(list)
    for prefix, part in _yield_modules_by_all_names(module):
        for name, weight in part.named_parameters(recurse=False, remove_duplicate=False):
            names[id(weight)].append(f"{prefix}.{name}".strip("."))
    return [group for group in names.values() if len(group) > 1]


def _yield_modules_by_all_names(
    module: nn.Module, name: str = "", above: tuple[int, ...] = ()
) -> Iterator[tuple[str, nn.Module]]:
    """Yield each part by every name that leads to it, except names that go in circles."""
    yield name, module
    for child_name, child in module._modules.items():
        if child is not None and id(child) not in (*above, id(module)):
            path = f"{name}.{child_name}".strip(".")
            yield from _yield_modules_by_all_names(child, path, (*above, id(module)))
