"""What makes decoding faster does the same work, and its record has both sides of each change."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from experiments import decoding_steps
from transformer.config import BEAM_SIZE
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import read_json


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ROUNDS": 1, "CALLS": 1, "SENTENCES": 5, "ALONE": 2}.items():
        monkeypatch.setattr(decoding_steps, name, value)


@torch.inference_mode()
def test_both_sides_compute_the_same(small: None, shipped: Translator) -> None:
    model = shipped.model
    assert isinstance(model, Transformer)
    torch.manual_seed(3)
    found = {}
    for change in (*decoding_steps.products(model), *decoding_steps.copying(model)):
        before, after = change.before(), change.after()
        found[change.name] = (before, after)
    before, after = found["one product"]
    assert isinstance(before, list)
    torch.testing.assert_close(torch.cat(before, dim=1), after)
    torch.testing.assert_close(*found["weights in oneDNN's order"], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(*found["softmax in place"])
    before, after = found["maxima of groups first"]
    assert isinstance(before, tuple)
    assert isinstance(after, tuple)
    assert torch.equal(before[0], after[0])
    before, after = found["one source, many prefixes"]
    assert isinstance(before, Tensor)
    assert isinstance(after, Tensor)
    per_source = before.unflatten(0, (-1, BEAM_SIZE)).squeeze(3).transpose(1, 2)
    torch.testing.assert_close(per_source, after)
    assert torch.equal(*found["who stays is not moved"])


@pytest.mark.slow
def test_a_record_has_every_change(small: None, tmp_path: Path) -> None:
    decoding_steps.record_steps("demo-en-fr", tmp_path / "steps.json")
    made = read_json(tmp_path / "steps.json")
    assert {"command", "commit", "hardware", "date", "model"} < set(made)
    names = [change["name"] for change in made["changes"]]
    assert len(set(names)) == len(names) == 13
    assert all(change["before"] >= 0 and change["after"] >= 0 for change in made["changes"])
    with pytest.raises(UserError, match="demo-lstm is an LSTM: name a Transformer"):
        decoding_steps.record_steps("demo-lstm", tmp_path / "steps.json")
