"""A model that is saved and loaded again is the same model (not in the paper)."""

import io

import torch
from torch import Tensor, nn

from attention_laws.errors import describe_error
from attention_laws.law import law
from attention_laws.model_state import parameters_and_buffers_put_back_afterwards
from attention_laws.report import Finding, broken_finding, kept_finding, noted_finding
from attention_laws.subject import MODEL_ERROR_TYPES, Subject

LAW_MODULE_SORT_KEY = 130


@law("module")
@torch.no_grad()
def state_dict_restores_logits(subject: Subject) -> Finding:
    """Weights that are saved and loaded again give equal logits.

    Means: the state dict lacks a weight, or has it under another name than is loaded; or loading
    overwrites or skips it
    Look: at state_dict, load_state_dict and their hooks
    How: Between saving and loading all weights are drawn anew. Tied weights are compared once more
    after load_state_dict(assign=True), which unties them in torch: that is noted.
    """
    src, tgt_in = subject.draw_padded_src(3, 7), subject.draw_tgt_in(3, 5)
    expected = subject.logits(src, tgt_in)
    state, file = subject.module.state_dict(), io.BytesIO()
    try:
        torch.save(state, file)
    except MODEL_ERROR_TYPES as error:
        return broken_finding(f"torch.save of its state dict raises {describe_error(error)}")
    for assign in (False, True):
        with parameters_and_buffers_put_back_afterwards(subject.module):
            _draw_all_weights_anew(subject)
            file.seek(0)
            how = f"load_state_dict({'assign=True' if assign else ''})"
            tied = _names_of_tied_weights(subject.module)
            try:
                subject.module.load_state_dict(torch.load(file, weights_only=False), assign=assign)
            except MODEL_ERROR_TYPES as error:
                raised = f"{how} of its own state dict raises {describe_error(error)}"
                return noted_finding(raised) if assign else broken_finding(raised)
            moved = subject.difference_or_zero_if_tolerated(subject.logits(src, tgt_in), expected)
            untied = sorted(tied - _names_of_tied_weights(subject.module))
        if moved:
            seen = f"after {how} of what was saved logits are {moved:.2g} away from those before"
            return broken_finding(seen, src=src[0], tgt_in=tgt_in[0])
    if untied:
        names = "; ".join(" and ".join(group) for group in untied)
        return noted_finding(
            f"load_state_dict(assign=True) unties {names}: tie them again after it"
        )
    return kept_finding(
        f"a state dict of {len(state)} entries, loaded with and without assign=True, gives equal "
        "logits"
    )


def _draw_all_weights_anew(subject: Subject) -> None:
    """Write random numbers into everything that a state dict is to restore."""
    for tensor in (*subject.module.parameters(), *_persistent_buffers(subject.module)):
        if tensor.is_floating_point():
            noise = torch.randn(tensor.shape, generator=subject.generator)
            tensor.copy_(noise.to(tensor.dtype))


def _persistent_buffers(module: nn.Module) -> list[Tensor]:
    """Return the buffers that belong to the state dict."""
    return [
        buffer
        for part in module.modules()
        for name, buffer in part._buffers.items()
        if buffer is not None and name not in part._non_persistent_buffers_set
    ]


def _names_of_tied_weights(module: nn.Module) -> set[tuple[str, ...]]:
    """Return the groups of names of which one tensor is the parameter."""
    names_by_tensor: dict[int, list[str]] = {}
    for name, weight in module.named_parameters(remove_duplicate=False):
        names_by_tensor.setdefault(id(weight), []).append(name)
    return {tuple(names) for names in names_by_tensor.values() if len(names) > 1}
