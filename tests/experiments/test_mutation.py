"""Mutants by hand, and that the paper's files and the laws' subject have some of every kind."""

import ast

from experiments import mutation_score
from experiments.laws import operators
from experiments.laws.mutants import FILE
from experiments.mutation import either_branch, mutants, other_constants, other_operators


def test_mutants_by_hand() -> None:
    source = "def f(a):\n    '''Words.'''\n    return a + 1 if a < 7 else -a  # why\n"
    operators = {
        "operator": other_operators({ast.Add: (ast.Sub, ast.Add), ast.Lt: (ast.LtE,)}),
        "constant": other_constants(lambda value: [value * 2] if value == 7 else []),
        "branch": either_branch,
    }
    found = [(m.operator, m.line, f"{m.old} -> {m.new}") for m in mutants(source, operators)]
    assert found == [
        ("branch", 3, "a + 1 if a < 7 else -a -> a + 1"),
        ("branch", 3, "a + 1 if a < 7 else -a -> -a"),
        ("operator", 3, "a < 7 -> a <= 7"),
        ("operator", 3, "a + 1 -> a - 1"),  # what equals the original is none
        ("constant", 3, "7 -> 14"),
    ]
    texts = [mutant.text.splitlines()[-1].strip() for mutant in mutants(source, operators)]
    assert texts == [
        "return a + 1",
        "return -a",
        "return a + 1 if a <= 7 else -a",
        "return a - 1 if a < 7 else -a",
        "return a + 1 if a < 14 else -a",
    ]


def test_every_operator_finds_something_to_change() -> None:
    text = FILE.read_text(encoding="utf-8")
    changed = list(mutants(text, operators.OPERATORS, operators.nodes_of_classes))
    assert {mutant.operator for mutant in changed} == set(operators.OPERATORS)
    sample = mutation_score.draw_sample(40, seed=1)
    assert {mutant.operator for _, mutant in sample} == set(mutation_score.OPERATORS)
    for mutant in [*changed, *(mutant for _, mutant in sample)]:
        ast.parse(mutant.text)
