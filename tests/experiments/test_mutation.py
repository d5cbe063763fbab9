"""Mutants by hand, and that the paper's files and the laws' subject have some of every kind."""

import ast

import pytest

from experiments import mutation_score
from experiments.laws import operators
from experiments.laws.sound_models import SOUND_MODELS
from experiments.mutation import (
    force_either_branch,
    generate_mutants,
    make_constant_mutation,
    make_operator_mutation,
)


def test_mutants_by_hand() -> None:
    source = "def f(a):\n    '''Words.'''\n    return a + 1 if a < 7 else -a  # why\n"
    operators = {
        "operator": make_operator_mutation({ast.Add: (ast.Sub, ast.Add), ast.Lt: (ast.LtE,)}),
        "constant": make_constant_mutation(lambda value: [value * 2] if value == 7 else []),
        "branch": force_either_branch,
    }
    found = [
        (m.operator, m.line, f"{m.old} -> {m.new}") for m in generate_mutants(source, operators)
    ]
    assert found == [
        ("branch", 3, "a + 1 if a < 7 else -a -> a + 1"),
        ("branch", 3, "a + 1 if a < 7 else -a -> -a"),
        ("operator", 3, "a < 7 -> a <= 7"),
        ("operator", 3, "a + 1 -> a - 1"),  # what equals the original is none
        ("constant", 3, "7 -> 14"),
    ]
    texts = [mutant.text.splitlines()[-1].strip() for mutant in generate_mutants(source, operators)]
    assert texts == [
        "return a + 1",
        "return -a",
        "return a + 1 if a <= 7 else -a",
        "return a - 1 if a < 7 else -a",
        "return a + 1 if a < 14 else -a",
    ]


@pytest.mark.weekly  # 15 seconds
def test_every_operator_finds_something_to_change() -> None:
    changed = [
        mutant
        for model in SOUND_MODELS.values()
        for mutant in generate_mutants(
            model.text, operators.MUTATION_OPERATORS, operators.nodes_inside_classes
        )
    ]
    assert {mutant.operator for mutant in changed} == set(operators.MUTATION_OPERATORS)
    sample = mutation_score.draw_mutants_per_file(40, seed=1)
    assert {mutant.operator for _, mutant in sample} == set(mutation_score.MUTATION_OPERATORS)
    for mutant in [*changed, *(mutant for _, mutant in sample)]:
        ast.parse(mutant.text)
