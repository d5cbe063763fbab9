"""What an answer does with one case: its value or its error, what it prints, a rule that it breaks.

Not in the paper. Nothing that an answer raises gets past `run`, but for Ctrl-C.
"""

import contextlib
import copy
import inspect
import io
import linecache
import random
import re
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from lessonkit.exercises.compare import difference, same, show

Answer = Callable[..., Any]
Args = tuple[Any, ...]
Rule = Callable[[], AbstractContextManager[Any]]

MAX_SHOWN = 300  # characters of a value, an error or a line
MAX_PRINTED = 10  # lines
ASKED = ("__call__", "__len__", "__getitem__")  # of a toy, besides what has a plain name


class BrokenRuleError(Exception):
    """An answer has done what its exercise forbids; the message is a clause that begins "it"."""


@dataclass(frozen=True)
class Outcome:
    """What an answer did with one case."""

    value: Any = None  # what it gave
    error: str = ""  # what it raised, in one line
    line: str = ""  # where in its own cell or file that was, with the line's text
    broken: str = ""  # the rule that it broke, a clause
    printed: str = ""  # the text that it printed
    changed: bool = False  # whether it changed an argument

    @property
    def stopped(self) -> str:
        """What stopped the answer, without its details; "" where nothing did."""
        return re.sub(r"\d+", "", self.broken) or self.error.split(":")[0]

    def rows(self) -> list[str]:
        """Write down what a learner wants to see, under "yours"."""
        rows = [f"    yours     {self.error or ('stopped' if self.broken else shown(self.value))}"]
        if self.line:
            line, *there = self.line.splitlines()
            rows += [f"    at        {line}", *(f"    there     {each}" for each in there)]
        return rows + self.printed_rows()

    def printed_rows(self) -> list[str]:
        """Write down what was printed, the first lines of it."""
        lines = [cut(line) for line in self.printed.splitlines()]
        if len(lines) > MAX_PRINTED:
            lines[MAX_PRINTED:] = [f"... and {len(lines) - MAX_PRINTED} lines more"]
        heads = ["printed", *[""] * len(lines)]
        return [f"    {head:9} {line}" for head, line in zip(heads, lines, strict=False)]


class Toy:
    """Written as a lesson would write it, where `ex` is the lesson's module of exercises.

    An answer is given its methods alone (see `veiled`): what it is made of may be what is asked.
    """

    shown: ClassVar[tuple[str, ...]] = ()  # attributes that an answer is given too

    def __repr__(self) -> str:
        names = inspect.signature(type(self)).parameters
        return f"ex.{type(self).__name__}({', '.join(show(getattr(self, each)) for each in names)})"


def veiled(value: Any) -> Any:
    """Give what an answer may see of a toy: its methods; anything else as it is."""
    if not isinstance(value, Toy) or isinstance(value, nn.Module):
        return value

    def passed_on(method: Any) -> Any:
        return lambda _, *args, **options: method(*args, **options)

    kind = type(value)
    names = {name for name, each in vars(kind).items() if inspect.isfunction(each)}
    asked = {name for name in names if name in ASKED or not name.startswith("_")}
    methods = {name: passed_on(getattr(value, name)) for name in asked}
    attributes = {name: getattr(value, name) for name in kind.shown}
    copied = {"__deepcopy__": lambda _, memo: veiled(copy.deepcopy(value, memo))}
    named = {"__repr__": lambda _: f"<ex.{kind.__name__}>"}
    return type(kind.__name__, (), methods | attributes | copied | named)()


def run(answer: Answer, args: Args, rules: Sequence[Rule] = ()) -> Outcome:
    """Call an answer with a copy of the arguments, while the rules watch it."""
    given = copy.deepcopy(args)
    written = io.StringIO()
    try:
        with contextlib.redirect_stdout(written), contextlib.ExitStack() as watching:
            for rule in rules:
                watching.enter_context(rule())
            value = answer(*map(veiled, given))
    except (Exception, SystemExit) as error:
        broken = str(error) if isinstance(error, BrokenRuleError) else ""
        said = "" if broken else _one_line(error)
        return Outcome(None, said, _line(answer, error), broken, written.getvalue())
    return Outcome(value, printed=written.getvalue(), changed=not same(given, args))


@contextlib.contextmanager
def sealed() -> Iterator[None]:
    """Check in a state that is always the same, and leave the learner's as it was."""
    dtype, chance = torch.get_default_dtype(), random.getstate()
    torch.set_default_dtype(torch.float32)
    try:
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.device("cpu"),
            torch.autocast("cpu", enabled=False),
            torch.random.fork_rng(devices=[]),
        ):
            torch.manual_seed(0)
            random.seed(0)
            yield
    finally:
        torch.set_default_dtype(dtype)
        random.setstate(chance)


def alike(one: Outcome, other: Outcome) -> bool:
    """Whether two answers did the same with a case, as far as a learner could see it."""
    if one.stopped or other.stopped:
        return one.stopped == other.stopped
    return one.changed == other.changed and not try_difference(one.value, other.value)


def try_difference(yours: Any, expected: Any) -> str:
    """Say what is different, whatever `yours` is: it may be a value that fails when looked at."""
    try:
        return difference(yours, expected)
    except Exception:
        return f"it gives {article(yours)} that cannot be compared"


def shown(value: Any) -> str:
    """Write a value in one line, cut where it is long."""
    try:
        return cut(show(value))
    except Exception:  # a list that holds itself, say
        return f"<{type(value).__name__}>"


def article(value: Any) -> str:
    """Name a value's type in a clause."""
    return f"a value of type {type(value).__name__}"


def cut(text: str) -> str:
    """Shorten a text to what a screen can hold."""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 4] + " ..."


def _one_line(error: BaseException) -> str:
    try:
        words = " ".join(str(error).split())
    except Exception:  # its __str__ is the learner's too
        words = ""
    return cut(f"{type(error).__name__}: {words}" if words else type(error).__name__)


def _line(answer: Answer, error: BaseException) -> str:
    """Find the last line of the answer's own cell that ran, and what its names stand for there.

    "line 3: best = scores[9]", and in the next row "scores is a list of 4".
    """
    own = getattr(getattr(inspect.unwrap(answer), "__code__", None), "co_filename", None)
    steps = traceback.walk_tb(error.__traceback__)
    places = [(frame, at) for frame, at in steps if frame.f_code.co_filename == own]
    if not places:
        return ""
    frame, at = places[-1]
    text = linecache.getline(str(own), at).strip()
    used = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text.partition("#")[0]))
    known = {name: frame.f_locals[name] for name in used if name in frame.f_locals}
    there = "; ".join(f"{name} is {kind(value)}" for name, value in known.items())
    line = cut(f"line {at}: {text}" if text else f"line {at}")
    return f"{line}\n{cut(there)}" if there else line


def kind(value: Any) -> str:
    """Say in a few words what a value is: a number itself, of a tensor its shape."""
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, list | tuple | dict | set | str) and len(value) > 3:
        return f"a {type(value).__name__} of {len(value)}"
    return shown(value)


class SmallTensors(TorchFunctionMode):
    """Let no tensor become large, nor all that are held at once (numbers)."""

    def __init__(self, largest: int, together: int) -> None:
        super().__init__()
        self.largest, self.together = largest, together
        self._made: list[weakref.ref[Tensor]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for each in result if isinstance(result, tuple | list) else (result,):
            if isinstance(each, Tensor):
                self._made.append(weakref.ref(each))
                self._weigh()
        return result

    def _weigh(self) -> None:
        held = [tensor for made in self._made if (tensor := made()) is not None]
        self._made = [weakref.ref(tensor) for tensor in held]
        storages = {each.untyped_storage().data_ptr(): each for each in held}  # views count once
        sizes = [x.untyped_storage().nbytes() // x.element_size() for x in storages.values()]
        if max(sizes) > self.largest:
            raise BrokenRuleError(f"it makes a tensor of {max(sizes)} numbers at once")
        if sum(sizes) > self.together:
            raise BrokenRuleError(f"it holds {sum(sizes)} numbers in tensors at once")


class WithoutFunctions(TorchFunctionMode):
    """Let some functions of PyTorch not be called."""

    def __init__(self, *forbidden: Any) -> None:
        super().__init__()
        self.forbidden = forbidden

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in self.forbidden:
            raise BrokenRuleError(f"it calls PyTorch's `{func.__name__}`")
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def without(module: str) -> Iterator[None]:
    """Let no function of a module be called; give its full name."""

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_globals.get("__name__") == module:
            name = frame.f_code.co_name
            raise BrokenRuleError(f"it calls `{name}` of {module}")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)
