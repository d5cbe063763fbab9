"""Mutants of source code: all that an operator makes of one node, in every place of a file.

Not in the paper. An operator is a function from a node of a syntax tree to the nodes that may stand
in its place. Here are the engine and the operators that several kinds of mutants share;
`experiments.mutation_score`, `experiments.laws.mutants` and the exercises' tests have their own.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

MutationOperator = Callable[[Any], Iterable[ast.AST]]
OperatorReplacements = Mapping[type[ast.AST], tuple[type[Any], ...]]


class Mutant(NamedTuple):
    """One edit of a file: what stood on a line, what stands there now, and the whole file then."""

    operator: str
    line: int
    old: str
    new: str
    text: str


def generate_mutants(
    source: str,
    operators: Mapping[str, MutationOperator],
    nodes: Callable[[ast.Module], Iterable[ast.AST]] = ast.walk,
) -> Iterator[Mutant]:
    """Yield every mutant of a source, node by node and in the order of the operators.

    Args:
        source: Python code; comments and formatting do not survive.
        operators: By name. What equals the node that it was made of is passed over.
        nodes: Which nodes of the tree are changed.
    """
    tree = ast.parse(source)
    places = _places_by_node_id(tree)
    for node in nodes(tree):
        for name, operator in operators.items():
            for new in operator(node):
                ast.fix_missing_locations(new)
                if ast.dump(new) != ast.dump(node):
                    text = _source_with_node_replaced(tree, places[id(node)], node, new)
                    yield Mutant(
                        name, _first_line_number(node), ast.unparse(node), ast.unparse(new), text
                    )


class _NodePlace(NamedTuple):
    """Where a node hangs: a field of its parent, and which item if it holds a list."""

    parent: ast.AST
    field: str
    item: int | None

    def replace_node(self, node: ast.AST) -> None:
        """Hang another node there."""
        if self.item is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.item] = node


def _places_by_node_id(tree: ast.AST) -> dict[int, _NodePlace]:
    """Return the place of every node of a tree, by the node's id."""
    places = {}
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.AST):
                places[id(value)] = _NodePlace(parent, field, None)
            elif isinstance(value, list):
                for index, inner in enumerate(value):
                    places[id(inner)] = _NodePlace(parent, field, index)
    return places


def _source_with_node_replaced(
    tree: ast.Module, place: _NodePlace, old: ast.AST, new: ast.AST
) -> str:
    """Return a tree's source with one node in another's place; the tree stays as it was."""
    place.replace_node(new)
    try:
        return ast.unparse(tree)
    finally:
        place.replace_node(old)


def _first_line_number(node: ast.AST) -> int:
    """Return the first line of a node; some kinds have none of their own."""
    return next(inner.lineno for inner in ast.walk(node) if hasattr(inner, "lineno"))


def make_operator_mutation(kinds: OperatorReplacements) -> MutationOperator:
    """Return the mutation operator that puts other Python operators in the place of one."""

    def operator(node: Any) -> Iterator[ast.AST]:
        match node:
            case ast.BinOp(left, op, right):
                yield from (ast.BinOp(left, other(), right) for other in kinds.get(type(op), ()))
            case ast.BoolOp(op, values):
                yield from (ast.BoolOp(other(), values) for other in kinds.get(type(op), ()))
            case ast.Compare(left, [op, *ops], values):
                for other in kinds.get(type(op), ()):
                    yield ast.Compare(left, [other(), *ops], values)
            case ast.AugAssign(target, op, value):
                for other in kinds.get(type(op), ()):
                    yield ast.AugAssign(target, other(), value)

    return operator


def make_constant_mutation(others: Callable[[Any], Iterable[Any]]) -> MutationOperator:
    """Return the operator that puts other constants, `others(value)`, in the place of one."""

    def operator(node: Any) -> Iterator[ast.AST]:
        if isinstance(node, ast.Constant):
            yield from map(ast.Constant, others(node.value))

    return operator


def force_either_branch(node: Any) -> Iterator[ast.AST]:
    """Take each branch of a condition always."""
    match node:
        case ast.IfExp(_, body, orelse):
            yield from (body, orelse)
        case ast.If(_, body, orelse):
            yield from (ast.If(ast.Constant(always), body, orelse) for always in (True, False))


def drop_each_keyword_argument(node: Any, but: str = "") -> Iterator[ast.AST]:
    """Leave each keyword argument of a call out, but the one of a name."""
    if isinstance(node, ast.Call):
        for left_out in (keyword for keyword in node.keywords if keyword.arg != but):
            others = [keyword for keyword in node.keywords if keyword is not left_out]
            yield ast.Call(node.func, node.args, others)
