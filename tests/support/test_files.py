"""Files: whole or not at all, whatever happens; and one writer in a folder."""

import json
import math
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest

from transformer.support.errors import UserError
from transformer.support.files import (
    check_writable_file,
    check_writable_folder,
    folder_lock,
    read_json,
    remove_temporary_files,
    replace_folder,
    write_atomically,
    write_json,
)

Patch = pytest.MonkeyPatch


# --- JSON ----------------------------------------------------------------------------------


def test_json_is_readable_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    named = os.fsdecode(b"runs/\xff")  # on Linux a name is bytes, of any kind
    write_json(path, {"word": "Straße", "ids": [2, 3], "command": named})
    assert read_json(path) == {"word": "Straße", "ids": [2, 3], "command": named}
    assert "Straße" in path.read_text(encoding="utf-8")


def test_damaged_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(UserError, match=r"no file .*a\.json"):
        read_json(path)
    path.write_bytes(b"[" * 100_000)
    with pytest.raises(UserError, match=r"cannot read .*a\.json"):
        read_json(path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device", "."):
        with pytest.raises(UserError, match=r"no file .*: is this the folder of a trained model"):
            read_json(tmp_path / name)


def test_no_figure_is_written_that_is_no_json(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"loss": 1.5})
    for value in (math.nan, math.inf):
        with pytest.raises(UserError, match="a figure is not a finite number, so it is not"):
            write_json(tmp_path / "a.json", {"figures": [{"loss": value}]})
    assert read_json(tmp_path / "a.json") == {"loss": 1.5}


# --- writing -------------------------------------------------------------------------------


def test_a_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    # Never written into: who has the old one open keeps it whole, and so does a crash.
    path = tmp_path / f"{'a' * 250}.json"  # as long as a name may be
    write_json(path, {"old": 1})
    with path.open() as old:
        write_json(path, {"new": 2})
        assert json.load(old) == {"old": 1}
    assert read_json(path) == {"new": 2}


def test_a_folder_takes_the_place_of_another_whole_or_not_at_all(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    for folder in (new, old):
        folder.mkdir()
        (folder / folder.name).touch()
    with pytest.raises(OSError, match="nothing"):
        replace_folder(tmp_path / "nothing", old)
    assert [path.name for path in old.iterdir()] == ["old"]
    replace_folder(new, old)
    assert [path.name for path in old.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_threads_that_write_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path, length = tmp_path / "a.json", 200_000

    def write(digit: bytes) -> list[int]:
        """Write one digit again and again; how many kinds were read back each time?"""
        kinds = []
        for _ in range(25):
            write_atomically(path, digit * length)
            content = path.read_bytes()
            kinds.append(len(set(content)) + (len(content) != length))
        return kinds

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(write, (b"1", b"2", b"3", b"4"))) == [[1] * 25] * 4
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    full = OSError(28, "No space left on device")
    message = r"No space left on device; it needs 207 bytes\): make room, .* before is unharmed"
    for where in ("os.fsync", "os.replace"):
        with Patch.context() as patch:
            patch.setattr(where, Mock(side_effect=full))
            with pytest.raises(UserError, match=message):
                write_atomically(path, b"x" * 207)
            patch.setattr(where, Mock(side_effect=KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                write_atomically(path, b"x" * 207)
        assert os.listdir(tmp_path) == ["a.json"]
        assert read_json(path) == {"old": 1}


def test_what_a_killed_writer_left_is_removed_and_no_more(tmp_path: Path) -> None:
    others = [tmp_path / name for name in ("a.json", "notes.tmp", ".hidden")]
    for path in (*others, tmp_path / ".5f1c.tmp"):
        path.write_bytes(b"")
    remove_temporary_files(tmp_path)
    remove_temporary_files(tmp_path / "nowhere")
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_what_can_be_made_is_not_made(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, tmp_path / "new" / "newer", Path("runs/demo"), Path()):
        check_writable_folder(folder)
        check_writable_file(folder / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_made_is_seen_before(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("first")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    for name in ("here", "here/new/newer", "broken/new"):
        with pytest.raises(UserError, match=r"(here|broken) is not a folder: give another name"):
            check_writable_folder(tmp_path / name)
        with pytest.raises(UserError, match="is not a folder"):
            check_writable_file(tmp_path / name / "a.json")
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(UserError, match=f"{path} is a folder or a device: give the name"):
            check_writable_file(path)
    for place in (Path("/proc/new/a"), tmp_path / ("a" * 300)):  # root may write to both, it says
        with pytest.raises(UserError, match=f"cannot write in {place} .*: give another"):
            check_writable_folder(place)


# --- one writer in a folder ----------------------------------------------------------------

HOLD = """
import sys, time
from pathlib import Path
from transformer.support.files import folder_lock
with folder_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_folder_is_held_by_one_process_and_free_after_its_kill(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        message = "run is in use by another run: wait for its end, or give another folder"
        try:
            with pytest.raises(UserError, match=message), folder_lock(tmp_path / "run"):
                raise AssertionError
        finally:
            process.send_signal(signal.SIGKILL)
    with folder_lock(tmp_path / "run"):
        pass
    assert list((tmp_path / "run").iterdir()) == []


def test_a_thread_may_ask_again_and_another_may_not(tmp_path: Path) -> None:
    def ask() -> str:
        try:
            with folder_lock(tmp_path):
                return "held"
        except UserError:
            return "refused"

    with ThreadPoolExecutor(1) as other:
        with folder_lock(tmp_path):
            assert ask() == "held"
            assert other.submit(ask).result() == "refused"
        with pytest.raises(KeyboardInterrupt), folder_lock(tmp_path):
            raise KeyboardInterrupt  # after which it is free
        assert other.submit(ask).result() == "held"


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    taken = tmp_path / "taken"
    with pytest.raises(UserError, match=r"cannot write in .*taken"), folder_lock(taken):
        raise AssertionError
    with pytest.raises(UserError, match=r"cannot save .*/taken/a\.json "):
        write_json(tmp_path / "taken" / "a.json", {})
    assert (tmp_path / "taken").read_text() == "mine"


def test_where_there_are_no_locks_nothing_is_held(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=OSError(95, "not supported")))
    with folder_lock(tmp_path / "run"):
        assert (tmp_path / "run").is_dir()
