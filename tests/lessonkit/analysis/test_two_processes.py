"""A script in two processes of torchrun."""

import pytest

from lessonkit.analysis.two_processes import run_script_in_two_processes
from transformer.support.errors import UserError


def doubled(number: int) -> int:
    return 2 * number


@pytest.mark.slow
def test_a_script_runs_in_two_processes_with_functions_of_ours() -> None:
    script = "import os\nprint(twice(int(os.environ['WORLD_SIZE'])))"  # lines may run together
    assert sorted(run_script_in_two_processes(script, twice=doubled)) == ["\n", "\n", "4", "4"]
    with pytest.raises(UserError, match="ZeroDivisionError"):
        run_script_in_two_processes("1 / 0")
