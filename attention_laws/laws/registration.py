"""What a pass reads and training should change is registered (not in the paper)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from attention_laws.law import law
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 72
MAX_NAMED = 3  # classes or shapes that a finding names


@law("module", compares=False)
def weights_are_registered(subject: Subject) -> Finding:
    """Every weight that a pass reads is among the module's parameters.

    Means: layers are kept in a plain list, a norm is made anew in forward, or a tensor is no
    nn.Parameter: it is never trained, moved or saved
    Look: at what is named: make it in __init__, in an nn.ModuleList or as an nn.Parameter
    """
    owned = list(subject.module.parameters())
    if subject.adapter.optimizer is not None:
        owned += [w for group in subject.adapter.optimizer.param_groups for w in group["params"]]
    owned_ids = {id(weight) for weight in owned}
    registered = set(subject.module.modules())
    unregistered: dict[str, None] = {}

    def record(part: nn.Module, _: Any) -> None:
        if part not in registered and any(True for _ in part.parameters()):
            unregistered.setdefault(type(part).__name__)
            # Its parts need no mention.
            registered.update(part.modules())

    with hooks_removed_afterwards([register_module_forward_pre_hook(record)]), torch.enable_grad():
        logits = subject.adapter.forward(subject.draw_src(2, 5), subject.draw_tgt_in(2, 4))
    leaves = _trainable_leaves(logits)
    if not leaves:
        return not_tried_finding("logits have no gradient: see `gradients_reach_all_parameters`")
    foreign = [leaf for leaf in leaves if id(leaf) not in owned_ids]
    if not foreign:
        return kept_finding(f"each of {len(leaves)} weights that a pass reads is a parameter")
    shapes = ", ".join(str(tuple(leaf.shape)) for leaf in foreign[:MAX_NAMED])
    seen = f"{len(foreign)} of {len(leaves)} weights that a pass reads are no parameters of it"
    classes = ", ".join(list(unregistered)[:MAX_NAMED])
    if classes:
        return broken_finding(f"{seen}: {classes} are called and are no submodules; {shapes}")
    return broken_finding(f"{seen}: tensors of {shapes}")


def _trainable_leaves(output: Tensor) -> list[Tensor]:
    """Return the tensors with a gradient that an output was computed from, each once."""
    leaves: dict[int, Tensor] = {}
    waiting, known = [output.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in known:
            continue
        known.add(node)
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, Tensor):
            leaves[id(leaf)] = leaf
        waiting += [next_node for next_node, _ in node.next_functions]
    return list(leaves.values())


@law("module", compares=False)
def words_are_looked_up_in_weights(subject: Subject) -> Finding:
    """The table that words are looked up in is a parameter, or computed from some.

    Means: it is a plain tensor of random numbers: a wrapper is missing around it, and it is never
    trained, moved or saved
    Look: at where the table is made: nn.Embedding, or nn.Parameter(...)
    """
    if not all(weight.requires_grad for weight in subject.module.parameters()):
        return not_tried_finding("some weights are frozen, and a table may be computed from these")
    src, tgt_in = subject.draw_src(2, 5), subject.draw_tgt_in(2, 4)
    known = {
        tensor.untyped_storage().data_ptr()
        for tensor in (*subject.module.parameters(), *subject.module.buffers())
    }
    first, second = _WordLookupRecorder(src, tgt_in), _WordLookupRecorder(src, tgt_in)
    for recorder in (first, second):
        with recorder, torch.enable_grad():
            subject.adapter.forward(src, tgt_in)
    if not first.tables:
        return not_tried_finding("no torch embedding reads the words")
    # A table that is computed in each pass, as from numbers of 8 bits, is another tensor each time.
    kept = {table.untyped_storage().data_ptr() for table in second.tables}
    for table in first.tables:
        place = table.untyped_storage().data_ptr()
        if not table.requires_grad and place in kept - known:
            seen = f"words are looked up in a table of {tuple(table.shape)}"
            return broken_finding(f"{seen} that is neither parameter nor buffer")
    return kept_finding(f"{len(first.tables)} tables of words are parameters, buffers or computed")


class _WordLookupRecorder(TorchFunctionMode):
    """Record the tables in which the ids of a batch are looked up in a block."""

    def __init__(self, *ids: Tensor) -> None:
        super().__init__()
        self.ids = ids
        self.tables: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") == "embedding":
            tensors = [arg for arg in args if isinstance(arg, Tensor)]
            if any(torch.equal(x, ids) for x in tensors for ids in self.ids):
                self.tables += [x for x in tensors if x.is_floating_point()]
        return func(*args, **(kwargs or {}))
