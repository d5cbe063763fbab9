"""A function with one small mistake, in every way that a list of operators knows."""

import ast
import copy
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

Answer = Callable[..., Any]

MAX_TURNS = 2_000  # of its loops: more than any reference needs, and soon over

OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    **{ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add)},
    **{ast.Div: (ast.Mult, ast.FloorDiv), ast.FloorDiv: (ast.Div, ast.Mult)},
    **{ast.Pow: (ast.Mult,), ast.MatMult: (ast.Mult,), ast.In: (ast.NotIn,)},
    **{ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.And: (ast.Or,), ast.Or: (ast.And,)},
    **{ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Eq: (ast.NotEq,)},
    **{ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE), ast.NotEq: (ast.Eq,)},
}
TURNED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow, ast.MatMult)  # where the order counts
NEIGHBOURS = {"sin": "cos", "any": "all", "floor": "ceil", "sigmoid": "tanh", "sum": "max"}
NEIGHBOURS |= {"min": "max", "amax": "amin", "argmax": "argmin", "maximum": "minimum"}
NEIGHBOURS |= {"startswith": "endswith", "sum": "mean", "break": "continue"}
NEIGHBOURS |= {other: name for name, other in NEIGHBOURS.items()}


def mutants(function: Answer) -> Iterator[tuple[str, Answer]]:
    """Give every function that differs from this one in one place, with what was done there.

    Args:
        function: Written in a file; of a comprehension, loop or lambda in it the inside too.

    Yields:
        "old -> new" as code, with a number where that was done before, and the function. A loop
        that does not end raises.
    """
    plain = _without_words(function)
    seen: Counter[str] = Counter()
    for number, node in enumerate(ast.walk(plain)):
        for new in map(ast.fix_missing_locations, _changes(node, _names(plain))):
            if ast.dump(node) == ast.dump(new):
                continue
            changed = copy.deepcopy(plain)
            old = list(ast.walk(changed))[number]
            changed = _changed(changed, lambda each, old=old, new=new: new if each is old else each)
            text = f"{ast.unparse(node)} -> {ast.unparse(new)}".replace("\n", "; ")
            seen[text] += 1
            name = text if seen[text] == 1 else f"{text} #{seen[text]}"
            yield name, _compiled(changed, function)


def _changed(tree: Any, change: Callable[[Any], ast.AST]) -> Any:
    """Put in the place of every node what is made of it."""

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return change(self.generic_visit(node))

    return Change().visit(tree)


def _without_words(function: Answer) -> ast.FunctionDef:
    """Parse a function; leave out its docstring and its types."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.returns, tree.body = None, tree.body[1:]
    for argument in tree.args.args:
        argument.annotation = None

    def untyped(node: Any) -> Any:
        if not isinstance(node, ast.AnnAssign):
            return node
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    return _changed(tree, untyped)  # type: ignore[no-any-return]


def _names(tree: ast.FunctionDef) -> list[set[str]]:
    """The names that a function binds, in two sets: the lists that it appends to, the others.

    One set's names never stand for the other's: PyTorch falls over a list that holds itself.
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


def _compiled(tree: ast.FunctionDef, function: Answer) -> Answer:
    """Make a function of its tree; too many turns of its loops raise StopIteration."""

    def guarded(node: Any) -> Any:
        if isinstance(node, ast.While | ast.For):
            node.body[:0] = ast.parse("next(turns_left)").body
        return node

    tree = _changed(tree, guarded)
    tree.body[:0] = ast.parse(f"turns_left = iter(range({MAX_TURNS}))").body
    names = {**function.__globals__}
    exec(ast.unparse(ast.fix_missing_locations(tree)), names)
    answer: Answer = names[tree.name]
    return answer


def _changes(node: Any, names: list[set[str]]) -> Iterator[ast.AST]:
    """Give what may stand in a node's place."""
    match node:
        case ast.stmt():
            yield from _statement_changes(node)
        case ast.Constant(value):
            yield from map(ast.Constant, _other_constants(value))
        case ast.BinOp(left, op, right):
            yield from (ast.BinOp(left, other(), right) for other in OPERATORS.get(type(op), ()))
            yield from (left, right)
            if isinstance(op, TURNED):
                yield ast.BinOp(right, op, left)
        case ast.BoolOp(op, values):
            yield from (ast.BoolOp(other(), values) for other in OPERATORS.get(type(op), ()))
            yield from values
        case ast.Compare(left, ops, others):
            yield from (
                ast.Compare(left, [other()], others) for other in OPERATORS.get(type(ops[0]), ())
            )
        case ast.UnaryOp(_, value) | ast.Subscript(value, _, ast.Load()):
            yield value
        case ast.IfExp(_, body, orelse):
            yield from (body, orelse)
        case ast.comprehension(target, iterated, [_, *_]):
            yield ast.comprehension(target, iterated, [], 0)
        case ast.Call():
            yield from _call_changes(node)
        case ast.Slice():
            for field in ("lower", "upper", "step"):
                if getattr(node, field) is not None:
                    yield ast.Slice(**{**dict(ast.iter_fields(node)), field: None})
        case ast.Attribute(value, attr, ctx):
            if attr in NEIGHBOURS:
                yield ast.Attribute(value, NEIGHBOURS[attr], ctx)
            if attr in {"T", "mT"}:
                yield value
        case ast.Tuple([first, second, *rest], ctx) | ast.List([first, second, *rest], ctx):
            yield type(node)([second, first, *rest], ctx)
            if isinstance(node, ast.List):
                yield from (ast.List([second, *rest], ctx), ast.List(node.elts[:-1], ctx))
        case ast.Name(name, ast.Load() | ast.Del()):
            near = [other for alike in names if name in alike for other in sorted(alike)]
            yield from (ast.Name(other, ast.Load()) for other in near)


def _statement_changes(node: Any) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Break | ast.Continue | ast.For):
        yield ast.Pass()
    match node:
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.AugAssign(target, op, value):
            yield from (
                ast.AugAssign(target, other(), value) for other in OPERATORS.get(type(op), ())
            )
            yield ast.copy_location(ast.Assign([target], value), node)
        case ast.If(_, body, orelse):
            yield from (ast.If(ast.Constant(always), body, orelse) for always in (True, False))


def _call_changes(node: ast.Call) -> Iterator[ast.AST]:
    """Leave the call out, or an argument, or exchange two."""
    args, keywords = node.args, node.keywords
    if isinstance(node.func, ast.Attribute):
        yield node.func.value
    if args and not isinstance(args[0], ast.Starred):
        yield args[0]
    if len(args) > 1:
        yield ast.Call(node.func, [args[1], args[0], *args[2:]], keywords)
    yield from (ast.Call(node.func, args[:i] + args[i + 1 :], keywords) for i in range(len(args)))
    for i in range(len(keywords)):
        yield ast.Call(node.func, args, keywords[:i] + keywords[i + 1 :])
    if isinstance(node.func, ast.Name) and node.func.id in NEIGHBOURS:
        yield ast.Call(ast.Name(NEIGHBOURS[node.func.id], ast.Load()), args, keywords)


def _other_constants(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value - 1, value + 1)
    elif isinstance(value, float):
        yield from (2 * value, value / 2) if value else (1.0, -1.0)
    elif isinstance(value, str):
        yield value + "_"
