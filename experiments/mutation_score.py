"""Mutation score of the paper's files: `python -m experiments mutants`.

Not in the paper. How much can be changed before a test fails? Each mutant is the tree with one
small edit: another operator, a constant off by one, a branch always taken, a call left out. The
tests near the edited file run on it in a process of their own; a mutant that they pass survived.
"""

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.mutation import (
    Mutant,
    drop_each_keyword_argument,
    force_either_branch,
    generate_mutants,
    make_constant_mutation,
    make_operator_mutation,
)

REPOSITORY_ROOT = Path(__file__).resolve().parents[1]
PATHS_COPIED_FOR_TESTS = (
    "transformer",
    "attention_course",
    "engines",
    "tests",
    "pyproject.toml",
    "lessonkit",
    "attention_laws",
    "experiments",
    "data",
)
TEST_NAMES_BY_PAPER_FILE = {  # a file of the paper, and the tests that should notice
    "attention": ("attention", "layers", "model", "values"),
    "embeddings": ("embeddings", "model", "values"),
    "positions": ("positions", "embeddings", "model", "values"),
    "feed_forward": ("layers", "model", "values"),
    "layers": ("layers", "model", "values"),
    "masks": ("masks", "model", "values"),
    "model": ("model", "values"),
    "decoding": ("decoding", "fast_search", "values"),
}
MAX_TEST_SECONDS = 300  # after which an endless mutant counts as caught
OPERATOR_REPLACEMENTS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    **{ast.Lt: (ast.LtE,), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE,), ast.GtE: (ast.Gt,)},
    **{ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)},
    **{ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.And: (ast.Or,), ast.Or: (ast.And,)},
    **{ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,)},
    **{ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.Mult,), ast.Pow: (ast.Mult,)},
    **{ast.MatMult: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,)},
}


def executable_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run: no types, no errors' messages, no docstrings."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns"} or isinstance(node, ast.Raise | ast.JoinedStr):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST):
                yield from executable_nodes(inner)


def flipped_bool_or_next_number(value: Any) -> Iterator[Any]:
    """Yield the other truth, or a number one higher."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1


def drop_negation(node: Any) -> Iterator[ast.AST]:
    """Leave out a `not`, `-` or `~`."""
    match node:
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield operand


def drop_statement(node: Any) -> Iterator[ast.AST]:
    """Leave out a statement that is a call of a method, a sum into a name, or a jump."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(called))) if "super" not in ast.unparse(called):
            yield ast.Pass()
        case ast.AugAssign() | ast.Continue() | ast.Break():
            yield ast.Pass()


def is_droppable_call(node: Any) -> bool:
    """Return whether a program without this call might still run."""
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func)
    is_class = name.split(".")[-1][0].isupper()
    return not name.startswith(("super", "torch")) and not is_class


def drop_call(node: Any) -> Iterator[ast.AST]:
    """Leave a call out, so that its first argument, or what its method is of, comes out."""
    if is_droppable_call(node):
        if node.args and isinstance(node.args[0], ast.Name | ast.Call | ast.IfExp):
            yield node.args[0]
        elif isinstance(node.func, ast.Attribute) and not _is_self_attribute(node.func):
            yield node.func.value


def _is_self_attribute(node: ast.AST) -> bool:
    return ast.unparse(node).startswith("self.")


def drop_each_argument_but_device(node: Any) -> Iterator[ast.AST]:
    """Leave out each keyword argument of a call; tests on a CPU cannot miss its device."""
    if is_droppable_call(node):
        yield from drop_each_keyword_argument(node, but="device")


MUTATION_OPERATORS = {
    "operator": make_operator_mutation(OPERATOR_REPLACEMENTS),
    "constant": make_constant_mutation(flipped_bool_or_next_number),
    "negation": drop_negation,
    "branch": force_either_branch,
    "statement": drop_statement,
    "call": drop_call,
    "argument": drop_each_argument_but_device,
}


def survives_tests(mutant: Mutant, file: Path, tree: Path) -> bool:
    """Run the tests near a mutant's file in a copy of the tree that has its edit."""
    edited = tree / file.relative_to(REPOSITORY_ROOT)
    edited.write_text(mutant.text, encoding="utf-8")
    tests = [f"tests/test_{name}.py" for name in TEST_NAMES_BY_PAPER_FILE[file.stem]]
    command = [sys.executable, "-m", "pytest", "-qx", "-m", "not slow", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=tree,
            env=environment,
            capture_output=True,
            timeout=MAX_TEST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        shutil.copy2(file, edited)
    return done.returncode == 0


def draw_mutants_per_file(per_file: int, seed: int) -> list[tuple[Path, Mutant]]:
    """Draw so many mutants of each file, in the order of their lines."""
    sample = []
    for name in TEST_NAMES_BY_PAPER_FILE:
        file = REPOSITORY_ROOT / "transformer" / f"{name}.py"
        possible = list(
            generate_mutants(file.read_text(encoding="utf-8"), MUTATION_OPERATORS, executable_nodes)
        )
        drawn = random.Random(seed).sample(possible, min(per_file, len(possible)))
        sample += [(file, mutant) for mutant in sorted(drawn, key=lambda mutant: mutant.line)]
    return sample


def print_mutation_score(each: int, seed: int) -> None:
    """Try a sample of the mutants, so many of each file, and print what became of each."""
    sample = draw_mutants_per_file(per_file=each, seed=seed)
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in PATHS_COPIED_FOR_TESTS:
            copy = shutil.copytree if (REPOSITORY_ROOT / name).is_dir() else shutil.copy2
            copy(REPOSITORY_ROOT / name, tree / name)
        for file, mutant in sample:
            survived = survives_tests(mutant, file, tree)
            survivors += survived
            edit = " ".join(f"{mutant.old} -> {mutant.new}".split())
            print("survived" if survived else "caught  ", end=" ")
            print(f"{file.relative_to(REPOSITORY_ROOT)}:{mutant.line}  {edit[:150]}", flush=True)
    print(f"{len(sample) - survivors} of {len(sample)} caught")
