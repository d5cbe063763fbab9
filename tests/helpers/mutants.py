"""A function with one small mistake, in every way that a list of operators knows."""

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from experiments import mutation
from experiments.mutation import (
    Mutant,
    OperatorReplacements,
    drop_each_keyword_argument,
    force_either_branch,
    make_constant_mutation,
    make_operator_mutation,
)

Answer = Callable[..., Any]

MAX_TURNS = 2_000  # of its loops: more than any reference needs, and soon over

KINDS: OperatorReplacements = {
    **{ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add)},
    **{ast.Div: (ast.Mult, ast.FloorDiv), ast.FloorDiv: (ast.Div, ast.Mult)},
    **{ast.Pow: (ast.Mult,), ast.MatMult: (ast.Mult,), ast.In: (ast.NotIn,)},
    **{ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.And: (ast.Or,), ast.Or: (ast.And,)},
    **{ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Eq: (ast.NotEq,)},
    **{ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE), ast.NotEq: (ast.Eq,)},
}
COUNTERPARTS = {"sin": "cos", "any": "all", "floor": "ceil", "sigmoid": "tanh", "sum": "max"}
COUNTERPARTS |= {"min": "max", "amax": "amin", "argmax": "argmin", "maximum": "minimum"}
COUNTERPARTS |= {"startswith": "endswith", "sum": "mean", "break": "continue"}
COUNTERPARTS |= {other: name for name, other in COUNTERPARTS.items()}


def mutants(function: Answer) -> Iterator[tuple[str, Answer]]:
    """Yield every function that differs from this one in one place, with what was done there.

    Args:
        function: Written in a file; the inside of its comprehensions, loops and lambdas counts too.

    Yields:
        "old -> new" as code, numbered from the second place where that was done, and the function.
        A loop that does not end raises.
    """
    tree = _without_words(function)
    operators = OPERATORS | {"name": partial(_other_names, groups=_bound_names(tree))}
    seen: Counter[str] = Counter()
    for mutant in mutation.generate_mutants(ast.unparse(tree), operators):
        edit = f"{mutant.old} -> {mutant.new}".replace("\n", "; ")
        seen[edit] += 1
        yield edit if seen[edit] == 1 else f"{edit} #{seen[edit]}", _compiled(mutant, function)


def _without_words(function: Answer) -> ast.FunctionDef:
    """Parse a function; leave out its docstring and its types."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.returns, tree.body = None, tree.body[1:]
    for argument in tree.args.args:
        argument.annotation = None
    untyped: ast.FunctionDef = _Untyped().visit(tree)
    return untyped


class _Untyped(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None
        return ast.copy_location(ast.Assign([node.target], node.value), node)


def _bound_names(tree: ast.FunctionDef) -> list[set[str]]:
    """Return the names that a function binds, in two sets: lists that it appends to, the others.

    One set's names never stand for the other's: PyTorch crashes on a list that holds itself.
    """
    nodes = list(ast.walk(tree))
    bound = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    bound |= {argument.arg for argument in tree.args.args}
    growing = {
        ast.unparse(node.value)
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr == "append"
    }
    return [bound & growing, bound - growing]


def _compiled(mutant: Mutant, function: Answer) -> Answer:
    """Make a function of a mutant; too many turns of its loops raise StopIteration."""
    tree = ast.parse(mutant.text)
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.While | ast.For):
            node.body[:0] = ast.parse("next(turns_left)").body
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    definition.body[:0] = ast.parse(f"turns_left = iter(range({MAX_TURNS}))").body
    names = {**function.__globals__}
    exec(ast.unparse(tree), names)
    answer: Answer = names[definition.name]
    return answer


def _one_operand(node: Any) -> Iterator[ast.AST]:
    """Leave out all but one operand, or what is done to a value."""
    match node:
        case ast.BinOp(left, _, right):
            yield from (left, right)
        case ast.BoolOp(_, values):
            yield from values
        case ast.UnaryOp(_, value) | ast.Subscript(value, _, ast.Load()):
            yield value


def _exchanged(node: Any) -> Iterator[ast.AST]:
    """Exchange operands whose order counts, or the first two arguments or values."""
    match node:
        case ast.BinOp(left, op, right):
            if isinstance(op, ast.Sub | ast.Div | ast.FloorDiv | ast.Pow | ast.MatMult):
                yield ast.BinOp(right, op, left)
        case ast.Call(function, [first, second, *rest], keywords):
            yield ast.Call(function, [second, first, *rest], keywords)
        case ast.Tuple([first, second, *rest], ctx):
            yield ast.Tuple([second, first, *rest], ctx)
        case ast.List([first, second, *rest], ctx):
            yield ast.List([second, first, *rest], ctx)


def _shorter(node: Any) -> Iterator[ast.AST]:
    """Leave out a list's first or last value, a slice's limit, or a comprehension's condition."""
    match node:
        case ast.List([_, second, *rest], ctx):
            yield from (ast.List([second, *rest], ctx), ast.List(node.elts[:-1], ctx))
        case ast.Slice():
            for field in ("lower", "upper", "step"):
                if getattr(node, field) is not None:
                    yield ast.Slice(**{**dict(ast.iter_fields(node)), field: None})
        case ast.comprehension(target, iterated, [_, *_]):
            yield ast.comprehension(target, iterated, [], 0)


def _without_call(node: Any) -> Iterator[ast.AST]:
    """Leave out a call, or one of its arguments."""
    match node:
        case ast.Call(function, args, keywords):
            if isinstance(function, ast.Attribute):
                yield function.value
            if args and not isinstance(args[0], ast.Starred):
                yield args[0]
            for i in range(len(args)):
                yield ast.Call(function, args[:i] + args[i + 1 :], keywords)


def _counterpart(node: Any) -> Iterator[ast.AST]:
    """Put a function's counterpart in its place; leave out a transposition."""
    match node:
        case ast.Attribute(value, name, ctx) if name in COUNTERPARTS:
            yield ast.Attribute(value, COUNTERPARTS[name], ctx)
        case ast.Attribute(value, "T" | "mT"):
            yield value
        case ast.Call(ast.Name(name), args, keywords) if name in COUNTERPARTS:
            yield ast.Call(ast.Name(COUNTERPARTS[name], ast.Load()), args, keywords)


def _other_names(node: Any, groups: list[set[str]]) -> Iterator[ast.AST]:
    """Put another name of the same group in the place of one."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
        for group in groups:
            if node.id in group:
                yield from (ast.Name(other, ast.Load()) for other in sorted(group))


def _other_statements(node: Any) -> Iterator[ast.AST]:
    """Leave out a statement; put another jump, or an assignment, in its place."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Break | ast.Continue | ast.For):
        yield ast.Pass()
    match node:
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.AugAssign(target, _, value):
            yield ast.Assign([target], value)


def _near_constants(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value - 1, value + 1)
    elif isinstance(value, float):
        yield from (2 * value, value / 2) if value else (1.0, -1.0)
    elif isinstance(value, str):
        yield value + "_"


OPERATORS: dict[str, mutation.MutationOperator] = {
    "operator": make_operator_mutation(KINDS),
    "operand": _one_operand,
    "exchange": _exchanged,
    "constant": make_constant_mutation(_near_constants),
    "branch": force_either_branch,
    "statement": _other_statements,
    "call": _without_call,
    "keyword": drop_each_keyword_argument,
    "length": _shorter,
    "counterpart": _counterpart,
}
