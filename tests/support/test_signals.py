"""A command takes Ctrl-C and requests to end in one way, whatever it is doing."""

import signal
from pathlib import Path

import pytest

from tests.helpers import ROOT, python

# The laws are a distribution of their own, and have this in a file of theirs.
HANDLERS = ("transformer.support.signals", "attention_laws.signals")
EXITS = """
import os, signal, sys
from HANDLERS import handle_interrupts, run_and_exit
number = signal.Signals(int(sys.argv[1]))
"""
ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]

# What a command does, with its status, standard output and standard error.
COMMANDS = {
    "an import that hides every error": (
        """
def run():
    try: import interrupts_itself
    except BaseException: pass
    return 0
""",
        (130, "", "stopped\n"),
    ),
    "an import that waits for nothing": (
        """
def run():
    import harmless
    return 0
""",
        (0, "imported\n", ""),
    ),
    "a second signal where the first was hidden": (
        """
def run():
    for _ in range(2):
        try: signal.raise_signal(number)
        except BaseException: pass
    return 0
""",
        (130, "", "stopped\n"),
    ),
    "a second signal while the first is minded": (
        """
def run():
    try: signal.raise_signal(number)
    finally: signal.raise_signal(number)
""",
        (130, "", "stopped\n"),
    ),
    "a signal after the work": (
        """
import atexit
atexit.register(lambda: signal.raise_signal(number))
def run():
    return 7
""",
        (7, "", ""),
    ),
    "a signal in a destructor": (
        """
class Resource:
    def __del__(self): signal.raise_signal(number)
def run():
    Resource()
    return 0
""",
        (130, "", "stopped\n"),
    ),
    "an interrupt that nobody minds": (
        """
def run():
    print("work", flush=True)
    signal.raise_signal(number)
""",
        (130, "work\n", "stopped\n"),
    ),
    "a signal that is ignored": (
        """
signal.signal(number, signal.SIG_IGN)
def run():
    signal.raise_signal(number)
    return 0
""",
        (0, "", ""),
    ),
}


LIBRARY = """
from attention_course.status import run_to_exit_status
def command():
    try: signal.raise_signal(number)
    except KeyboardInterrupt as error: raise RuntimeError("of a library") from error
def run():
    return run_to_exit_status(command)
"""
# A suite that `nohup` or a job in the background began hands on signals that are ignored.
DEFAULTS = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""


@pytest.mark.parametrize("handlers", HANDLERS)
@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_ends_a_command_in_one_way(
    command: str, number: signal.Signals, handlers: str, tmp_path: Path
) -> None:
    interrupts = "import signal, sys; signal.raise_signal(int(sys.argv[1])); print('imported')"
    (tmp_path / "interrupts_itself.py").write_text(interrupts)
    (tmp_path / "harmless.py").write_text("print('imported')")
    code, (status, out, err) = COMMANDS[command]
    paths = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    script = f"{DEFAULTS}{paths}{EXITS.replace('HANDLERS', handlers)}{code}\nrun_and_exit(run)"
    done = python("-c", script, int(number), status=status)
    assert (done.stdout, done.stderr) == (out, err)


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
@pytest.mark.parametrize(
    "package", ["transformer", "attention_course", "attention_laws", "experiments", "lessonkit"]
)
def test_a_signal_ends_a_command_while_its_first_module_is_imported(
    package: str, number: signal.Signals, tmp_path: Path
) -> None:
    """The module stands in for the standard library's, which every parser of options needs."""
    (tmp_path / "argparse.py").write_text(f"import signal; signal.raise_signal({int(number)})")
    paths = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]"
    start = f"import runpy; runpy.run_module({package!r}, run_name='__main__', alter_sys=True)"
    done = python("-c", f"{DEFAULTS}{paths}\n{start}", status=130)
    assert (done.stdout, done.stderr) == ("", "stopped\n")


def test_an_interrupt_that_becomes_another_error_is_one() -> None:
    exits = EXITS.replace("HANDLERS", HANDLERS[0])
    done = python("-c", f"{exits}{LIBRARY}run_and_exit(run)", int(signal.SIGTERM), status=130)
    assert (done.stdout, done.stderr) == ("", "stopped\n")
