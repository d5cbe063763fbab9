"""What a learner keeps can be loaded in another notebook, with all that it uses."""

import linecache
from pathlib import Path

import pytest
import torch

from lessonkit.exercises import own
from transformer.support.errors import UserError

CELL = """
import math
import torch
from torch import nn
from transformer.embeddings import sinusoidal_positions as waves_of

def stretched(vectors):
    return vectors * math.sqrt(vectors.shape[-1])

class MyEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.register_buffer("waves", waves_of(99, d_model), persistent=False)

    def forward(self, ids):
        return stretched(self.token(ids)) + self.waves[: ids.shape[1]]
"""
SECOND = """
class MyFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.outer(self.inner(x).relu())
"""


def run_cell(text: str, names: dict, number: int = 1) -> dict:
    """Run a cell as IPython does: its text can be looked up by its file's name."""
    file = f"<ipython-input-{number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names.setdefault("__name__", "__main__")
    exec(compile(text, file, "exec"), names)
    return names


def test_a_class_is_kept_with_what_it_uses(tmp_path: Path) -> None:
    file = tmp_path / "my_transformer.py"
    names = run_cell(CELL, {})
    assert own.embedding.check(names["MyEmbedding"]).status == "passed"
    said = own.keep(names["MyEmbedding"], file=file)
    assert said == f"kept in {file}: MyEmbedding"
    again = own.kept("MyEmbedding", file=file)
    assert again is not own.reference.MyEmbedding
    assert own.embedding.check(again).status == "passed"


def test_a_second_class_leaves_the_first_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "my_transformer.py"
    names = run_cell(CELL, {})
    own.keep(names["MyEmbedding"], file=file)
    own.keep(run_cell(SECOND, names, 2)["MyFeedForward"], file=file)
    own.keep(names["MyEmbedding"], file=file)
    assert own.embedding.check(own.kept("MyEmbedding", file=file)).status == "passed"
    forward = own.kept("MyFeedForward", file=file)(2, 3)
    assert forward(torch.zeros(1, 1, 2)).shape == (1, 1, 2)
    assert file.read_text().count("class MyEmbedding") == 1


LAYER = """
class MyEncoderLayer(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.feed_forward = MyFeedForward(d_model, d_ff)

    def forward(self, x):
        return x + self.feed_forward(x)
"""


def test_a_class_made_of_a_kept_one_leaves_that_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "my_transformer.py"
    own.keep(run_cell("from torch import nn\n" + SECOND, {})["MyFeedForward"], file=file)
    later: dict = {"MyFeedForward": own.kept("MyFeedForward", file=file)}
    own.keep(run_cell("from torch import nn\n" + LAYER, later, 2)["MyEncoderLayer"], file=file)
    assert "my_transformer import" not in file.read_text()
    layer = own.kept("MyEncoderLayer", file=file)(2, 3)
    assert layer(torch.zeros(1, 1, 2)).shape == (1, 1, 2)


def test_nothing_kept_means_the_courses_own(tmp_path: Path) -> None:
    assert own.kept("MyTransformer", file=tmp_path / "none.py") is own.reference.MyTransformer


def test_a_class_that_is_not_in_the_file_is_the_courses_own(tmp_path: Path) -> None:
    file = tmp_path / "my_transformer.py"
    own.keep(run_cell(CELL, {})["MyEmbedding"], file=file)
    assert own.kept("MyTransformer", file=file) is own.reference.MyTransformer


def test_a_class_of_no_cell_is_refused(tmp_path: Path) -> None:
    nowhere: dict = {"__name__": "__main__"}
    exec("class MyAttention:\n    def forward(self): return 1", nowhere)
    with pytest.raises(UserError, match="MyAttention was not written in a cell"):
        own.keep(nowhere["MyAttention"], file=tmp_path / "my.py")


def test_a_file_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    file = tmp_path / "my.py"
    file.write_text("import nothing_of_that_name")
    with pytest.raises(UserError, match=r"cannot be run .*mend it, or remove it"):
        own.kept("MyTransformer", file=file)
