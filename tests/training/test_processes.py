"""Several processes that train one model, and one that does it by itself."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.helpers import HANGS, ROOT, TINY, python, set_torchrun_environment
from tests.helpers.several_processes import largest_differences, network, train_in
from transformer.training import processes

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
SETTINGS = [part for key, value in TINY.items() for part in ("--set", f"{key}={value}")]
NO_END = ["train", "demo", *SETTINGS, "--steps", "100000"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def test_one_process_is_alone_with_torchrun_or_without(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        with processes.joined_process_group() as device:
            assert (device, processes.rank(), processes.world_size()) == (None, 0, 1)
        set_torchrun_environment(monkeypatch, 1, 1)
    model, before = network(), torch.get_rng_state()
    assert processes.wrap_in_data_parallel(model) is model
    processes.seed_dropout(3, 5)
    assert torch.equal(torch.get_rng_state(), before)


def together(folder: Path, *cases: str) -> dict[str, list[float]]:
    """Run some cases in two processes, and return the numbers that each case gave."""
    module = ("-m", "tests.helpers.several_processes", str(folder), *cases)
    python(*TORCHRUN[1:], *module, env=ENVIRONMENT)
    found: dict[str, list[float]] = json.loads((folder / "answer.json").read_text())
    assert list(map(len, found.values())) == [2] * len(cases)
    return found


@pytest.mark.slow
def test_two_processes_equal_one_and_resume_exactly(tmp_path: Path) -> None:
    train_in(tmp_path / "alone", network().double())
    together(tmp_path, "whole", "in parts", "straight", "parts")
    for case in ("whole", "in parts"):
        found = largest_differences(tmp_path / "alone", tmp_path / case)
        print(f"{case}:", found)
        assert found["weights"] < 1e-12
        assert found["losses"] < 1e-5  # which are added up in 32 bits
    assert largest_differences(tmp_path / "straight", tmp_path / "parts") == {
        "losses": 0,
        "weights": 0,
    }


@pytest.mark.weekly
@pytest.mark.slow
def test_two_processes_equal_one_in_every_way(tmp_path: Path) -> None:
    train_in(tmp_path / "alone", network().double())
    train_in(tmp_path / "single", network())
    train_in(tmp_path / "resumed", network(), stop_after=17)
    train_in(tmp_path / "refused", network(), stop_after=1)
    heard = together(tmp_path, "micro", "resumed", "drawn", "refused")
    train_in(tmp_path / "resumed", network(), resume=True)
    micro = largest_differences(tmp_path / "alone", tmp_path / "micro")
    resumed = largest_differences(tmp_path / "single", tmp_path / "resumed")
    print("micro-batches:", micro, "resumed:", resumed)
    assert micro["weights"] < 1e-12
    assert 0 < resumed["weights"] < 1e-4
    assert resumed["losses"] < 1e-4
    assert len(set(heard["drawn"])) == 2  # each drops its own
    assert heard["refused"] == [1, 1]  # all hear a refusal


@pytest.fixture
def training(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Two processes that train without end, past their first checkpoint."""
    command = [*TORCHRUN, "-m", "transformer", *NO_END, "--out", str(tmp_path / "run")]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=ENVIRONMENT, **pipes) as run:
        try:
            assert run.stdout is not None
            while "validation" not in (line := run.stdout.readline()):
                assert line or run.poll() is None
            yield run
        finally:
            run.terminate()


def workers(run: "subprocess.Popen[str]") -> dict[int, int]:
    """The process id of each rank."""
    pids = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    settings = {int(pid): Path(f"/proc/{pid}/environ").read_text().split("\0") for pid in pids}
    ranks = [(pid, each) for pid, all_of in settings.items() for each in all_of]
    return {int(each[5:]): pid for pid, each in ranks if each.startswith("RANK=")}


def resumed_alone(out: Path) -> list[str]:
    """What one process says that goes on for a step."""
    step = json.loads(out.joinpath("log.jsonl").read_text().splitlines()[-1])["step"]
    command = [*NO_END[:-1], str(step + 1), "--out", str(out), "--resume"]
    return python("-m", "transformer", *command, env=ENVIRONMENT).stdout.splitlines()


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_all_with_one_line(
    training: "subprocess.Popen[str]", tmp_path: Path, rank: int
) -> None:
    time.sleep(0.5)  # some steps on
    os.kill(workers(training)[rank], signal.SIGKILL)
    _, err = training.communicate(timeout=HANGS)
    said = [line for line in err.splitlines() if line.startswith("error:")]
    assert said == [
        "error: another process of this run was killed or failed, so all end; what was saved "
        "before is kept: give the same command with --resume to go on from it"
    ]
    assert training.returncode != 0
    lines = resumed_alone(tmp_path / "run")
    assert lines[0].startswith("begun with processes 2, resumed with 1: the weights will differ")
    assert lines[-2].startswith("done in")


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_or_a_request_to_end_keeps_everything(
    training: "subprocess.Popen[str]", tmp_path: Path, number: signal.Signals
) -> None:
    time.sleep(0.5)  # some steps on
    training.send_signal(number)
    out, err = training.communicate(timeout=HANGS)
    said = [line for line in out.splitlines() if line.startswith("stopped")]
    assert len(said) == 1
    assert (
        "all is kept; go on with: torchrun --nproc-per-node 2 --no-python attention-course train"
        in said[0]
    )
    assert "error:" not in err
    last = [line for line in out.splitlines() if line.startswith("step ")][-1]
    assert said[0].startswith(f"stopped after step {last.split()[1].split('/')[0]},")
    assert (tmp_path / "run" / "checkpoints" / "last.safetensors").exists()
