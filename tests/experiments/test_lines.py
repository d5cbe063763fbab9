"""The rooms are counted, now and at an earlier commit."""

import subprocess
from pathlib import Path

from experiments.lines import BUDGETS, Size, sizes, sizes_at, table


def test_now_and_before(tmp_path: Path) -> None:
    file = tmp_path / "transformer" / "deep" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text("1\n2\n")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    file.write_text("1\n")
    (file.parent / "b.py").write_text("1\n\n3\n")
    (file.parent / "c.txt").write_text("1\n")
    now, before = sizes(tmp_path), sizes_at(tmp_path, "HEAD")
    assert (before["transformer"], now["transformer"]) == (Size(2, 1), Size(4, 2))
    assert now["tests"] == Size(0, 0)
    rows = table(now, before).splitlines()
    assert len(rows) == len(BUDGETS) + 2
    assert rows[1].split()[:5] == ["transformer", "2", "1", "4", "2"]
    assert rows[-1].split()[:7] == ["all", "but", "tests", "2", "1", "4", "2"]
