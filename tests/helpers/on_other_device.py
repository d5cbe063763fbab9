"""What a GPU does, on a device that needs none; `tests/test_other_device.py` runs this.

The device's tensors say that they are elsewhere and keep their numbers in an inner tensor on the
CPU. What meets a tensor that is not there raises, as on a GPU; a single number may come from
anywhere. LSTMs are left out: on a device they take kernels that the CPU does not have.

Importing this adds the device to PyTorch for good: only in a process of its own.
"""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from transformer import dropout
from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Example, TokenBudgetBatches, collate
from transformer.decoding import beam_search, greedy_search
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.training.loop import train
from transformer.training.loss import validation_loss

_setup_privateuseone_for_python_backend(rename="elsewhere")
torch.__future__.set_swap_module_params_on_conversion(True)  # a moved weight stays tied
DEVICE = torch.device("elsewhere", 0)
MOVES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}


class Elsewhere(Tensor):
    """A tensor on DEVICE."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> "Elsewhere":
        with torch.inference_mode(False):  # its kind of tensor cannot be a view of another kind
            made = Tensor._make_wrapper_subclass(
                cls,
                inner.size(),
                strides=inner.stride(),
                storage_offset=inner.storage_offset(),
                dtype=inner.dtype,
                device=DEVICE,
            )
        made.inner = inner
        return made

    def data_ptr(self) -> int:
        """Where the numbers are: tied weights are known by it."""
        return self.inner.data_ptr()

    def tolist(self) -> Any:
        """Read the numbers."""
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out an operation on the inner tensors, if all its tensors are here."""
        kwargs = kwargs or {}
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        strays = [each for each in given if not isinstance(each, cls) and each.dim() > 0]
        if strays and func not in MOVES:
            raise RuntimeError(f"{func} is given tensors of {DEVICE} and of {strays[0].device}")
        leaves = kwargs.get("device") is not None and kwargs["device"].type != DEVICE.type
        inside = {key: value for key, value in kwargs.items() if key != "device"}
        result = func(*tree_map(_inner, args), **tree_map(_inner, inside))
        if leaves:
            return result
        known = {id(each.inner): each for each in given if isinstance(each, cls)}

        def put(each: Any) -> Any:
            """Wrap a new tensor; one that was changed in place has its wrapper."""
            if not isinstance(each, Tensor):
                return each
            return known[id(each)] if id(each) in known else cls(each)

        return tree_map(put, result)


def _inner(each: Any) -> Any:
    return each.inner if isinstance(each, Elsewhere) else each


@torch.library.impl("aten::empty.memory_format", "PrivateUse1")
def _empty(size: Any, *, dtype: Any = None, **_: Any) -> Tensor:
    return Elsewhere(torch.empty(size, dtype=dtype))


@torch.library.impl("aten::empty_strided", "PrivateUse1")
def _empty_strided(size: Any, stride: Any, *, dtype: Any = None, **_: Any) -> Tensor:
    return Elsewhere(torch.empty_strided(size, stride, dtype=dtype))


@torch.library.impl("aten::_copy_from", "PrivateUse1")
def _copy_from(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    _inner(target).copy_(_inner(source))
    return target


TYPES = 29
EXAMPLES = [Example([4 + i % 23, 7, *[9] * (i % 5)], [11, 4 + i % 13]) for i in range(41)]
CONFIG = TrainingConfig(steps=6, batch_tokens=24, clip_norm=1.0, report_every=2, validate_every=3)
FORMS: list[dict[str, Any]] = [
    {},
    {"positions": "concatenated", "position_dim": 3, "tie_softmax": False, "output_bias": True},
]


@pytest.fixture(params=FORMS, ids=["paper", "concatenated"])
def model(request: pytest.FixtureRequest) -> Transformer:
    """A small network on the CPU, with dropout."""
    torch.manual_seed(1)
    sizes = {"d_model": 22, "d_ff": 31, "num_heads": 2, "num_layers": 3, "max_len": 37}
    config = ModelConfig(**sizes | {"attention_dropout": 0.1} | request.param)
    return Transformer(config, src_vocab_size=TYPES, tgt_vocab_size=TYPES)


def there(model: Transformer) -> Transformer:
    return copy.deepcopy(model).to(DEVICE)


def here(tensor: Tensor) -> Tensor:
    """Fetch what must have been computed on the device."""
    assert isinstance(tensor, Elsewhere)
    return tensor.cpu()


def test_training_validation_and_resume(
    model: Transformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is stopped and resumed there ends with the weights of one made here."""
    monkeypatch.setattr(dropout, "dropout", F.dropout)  # ours draws other numbers, on a CPU alone
    batches, held_out = TokenBudgetBatches(EXAMPLES, 24), [collate(EXAMPLES[:7])]
    runs = {"cpu": model, "begun": there(model), "resumed": there(model)}

    def go(name: str, folder: str, **options: Any) -> None:
        train(
            runs[name], CONFIG, batches, held_out, tmp_path / folder, d_model=22,
            on_report=lambda report: None, **options,
        )  # fmt: skip

    before = copy.deepcopy(model.state_dict())
    go("cpu", "1")
    go("begun", "2", device=DEVICE, stop_after=3)
    go("resumed", "2", device=DEVICE, resume=True)
    for name, tensor in runs["cpu"].state_dict().items():
        torch.testing.assert_close(here(runs["resumed"].state_dict()[name]), tensor, msg=name)
        assert not tensor.equal(before[name]), name
    loss = validation_loss(runs["resumed"], held_out, device=DEVICE)
    assert loss == pytest.approx(validation_loss(runs["cpu"], held_out), rel=1e-6)


def test_both_searches(model: Transformer) -> None:
    model.eval()
    other, src = there(model), collate(EXAMPLES[:5]).src
    for use_cache in (True, False):
        options = {"max_len": 17, "use_cache": use_cache}
        greedy = greedy_search(model, src, **options)
        found = greedy_search(other, src.to(DEVICE), **options)
        assert [h.ids for h in found] == [h.ids for h in greedy]
        beams = beam_search(model, src, beam_size=3, **options)
        for ours, theirs in zip(
            beams, beam_search(other, src.to(DEVICE), beam_size=3, **options), strict=True
        ):
            assert [h.ids for h in theirs] == [h.ids for h in ours]
            assert [h.score for h in theirs] == pytest.approx([h.score for h in ours], rel=1e-5)


def test_a_translator() -> None:
    sentences = ["The dog sleeps.", "", "The old woman is reading a book."]
    ours, theirs = Translator.load("demo-en-fr"), Translator.load("demo-en-fr", DEVICE)
    assert theirs.translate(sentences) == ours.translate(sentences)
    found = theirs.attention(sentences[0])
    assert found.translation == ours.translate(sentences[:1])[0]
    assert isinstance(found.maps.cross, Elsewhere)
