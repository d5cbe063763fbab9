"""A command takes Ctrl-C and requests to end in one way, whatever it is doing."""

import signal
from pathlib import Path

import pytest

from tests.helpers import python

EXITS = """
import os, signal, sys
from attention_course.status import run_to_exit_status
from transformer.support.signals import handle_interrupts, run_and_exit
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
    "an interrupt that becomes another error": (
        """
def command():
    try: signal.raise_signal(number)
    except KeyboardInterrupt as error: raise RuntimeError("of a library") from error
def run():
    return run_to_exit_status(command)
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


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_ends_a_command_in_one_way(
    command: str, number: signal.Signals, tmp_path: Path
) -> None:
    interrupts = "import signal, sys; signal.raise_signal(int(sys.argv[1])); print('imported')"
    (tmp_path / "interrupts_itself.py").write_text(interrupts)
    (tmp_path / "harmless.py").write_text("print('imported')")
    code, (status, out, err) = COMMANDS[command]
    # A suite that `nohup` or a job in the background began hands on signals that are ignored.
    defaults = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    defaults += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    paths = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    script = f"{defaults}{paths}{EXITS}{code}\nrun_and_exit(run)"
    done = python("-c", script, int(number), status=status)
    assert (done.stdout, done.stderr) == (out, err)
