"""Which parameters are one matrix, and whether they should be (§3.2.2, §3.4)."""

from collections import defaultdict

import torch
from torch import nn

from attention_laws.law import Subject, law
from attention_laws.laws.parameters import listed
from attention_laws.report import Finding, broken, kept, not_tried, warned


@law(
    says="Matrices that are said to be one are one.",
    means="one was copied to the other, or tied before it was made anew: they part as soon as "
    "they are trained",
    look="at where they are tied, and at what is assigned to them afterwards",
    needs=("module",),
    compares=False,
)
def tied_as_declared(subject: Subject) -> Finding:
    """Look whether the names of each group lead to one tensor."""
    module = subject.module
    if not subject.adapter.declared_tied:
        shared = ["=".join(names) for names in shared_names(module)]
        return not_tried(f"none are declared as one; found as one: {listed(shared) or 'none'}")
    for group in subject.adapter.declared_tied:
        weights = [module.get_parameter(name) for name in group]
        for name, weight in zip(group[1:], weights[1:], strict=True):
            if weight is not weights[0]:
                copied = weight.shape == weights[0].shape and torch.equal(weight, weights[0])
                how = "a copy, equal only now" if copied else "another matrix"
                return broken(f"{name} is to be {group[0]} and is {how}")
    return kept("; ".join(" = ".join(group) for group in subject.adapter.declared_tied))


def shared_names(module: nn.Module) -> list[list[str]]:
    """Give the names of each parameter that has more than one."""
    names: dict[int, list[str]] = defaultdict(list)
    for name, weight in module.named_parameters(remove_duplicate=False):
        names[id(weight)].append(name)
    return [each for each in names.values() if len(each) > 1]


@law(
    says="Queries, keys and values have projections of their own.",
    means="one nn.Linear was made and is used for several of them",
    look="at how the attention's projections are made",
    needs=("module",),
    compares=False,
)
def own_projections(subject: Subject) -> Finding:
    """Look for a matrix that serves twice within one layer."""
    module = subject.module
    tables = {id(t.weight) for t in module.modules() if isinstance(t, nn.Embedding)}
    for names in shared_names(module):
        weight = module.get_parameter(names[0])
        owners = [name.rpartition(".")[0].rpartition(".")[0] for name in names]
        if id(weight) not in tables and weight.dim() > 1 and len(set(owners)) < len(owners):
            return warned(f"one matrix is {listed(names)}")
    return kept("no layer uses one matrix twice")


LAWS = (tied_as_declared, own_projections)
