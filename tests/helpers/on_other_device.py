"""What a GPU does, on a device that needs none; `tests/test_other_device.py` runs this.

The device's tensors say that they are elsewhere and keep their numbers in an inner tensor on the
CPU. What meets a tensor that is not there raises, as on a GPU; a single number may come from
anywhere. LSTMs are left out: on a device they take kernels that the CPU does not have.

Importing this adds the device to PyTorch for good: only in a process of its own.
"""

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from tests.helpers.cpu_recorder import CpuStepRecorder
from tests.helpers.tiny_training import EXAMPLES, HELD_OUT, Tiny, run_tiny, transformer
from transformer import fast_dropout
from transformer.data.token_budget import TokenBudgetBatches
from transformer.decoding import beam_search, greedy_search
from transformer.models.translator import Translator
from transformer.training import loop

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
            form = {"strides": inner.stride(), "storage_offset": inner.storage_offset()}
            form |= {"dtype": inner.dtype, "device": DEVICE}
            made = Tensor._make_wrapper_subclass(cls, inner.size(), **form)
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


def test_training_and_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is stopped and resumed there ends with the weights of one made here."""
    # On a CPU, and there alone, the fast one draws other numbers.
    monkeypatch.setattr(fast_dropout, "fast_dropout", F.dropout)
    ours, resumed = transformer(), transformer().to(DEVICE)
    result = run_tiny(tmp_path / "1", ours)
    run_tiny(tmp_path / "2", transformer().to(DEVICE), device=DEVICE, stop_after=5)
    again = run_tiny(tmp_path / "2", resumed, device=DEVICE, resume=True)
    assert again.final_loss == pytest.approx(result.final_loss, rel=1e-6)
    for name, tensor in ours.state_dict().items():
        moved = resumed.state_dict()[name]
        assert isinstance(moved, Elsewhere)
        torch.testing.assert_close(moved.cpu(), tensor, msg=name)


def test_recorded_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps recorded there do not meet a tensor that is elsewhere, and do what those here do."""
    monkeypatch.setattr(fast_dropout, "fast_dropout", F.dropout)
    recorders = [CpuStepRecorder(), CpuStepRecorder()]
    ours, theirs = Tiny(), Tiny().to(DEVICE)
    batches = TokenBudgetBatches(EXAMPLES, 45, pool_batches=3)
    for model, device, recorder in zip((ours, theirs), ("cpu", DEVICE), recorders, strict=True):
        monkeypatch.setattr(loop, "make_recorder", lambda _, recorder=recorder: recorder)
        # At a run's end its weights are put in the place of those that the recorder holds.
        options = {"batches": batches, "cuda_graphs": True, "stop_after": 11}
        run_tiny(tmp_path / str(device), model, device=device, **options)
    assert vars(recorders[0]) == vars(recorders[1])
    assert recorders[0].num_recordings > 0
    for name, tensor in ours.state_dict().items():
        torch.testing.assert_close(theirs.state_dict()[name].cpu(), tensor, msg=name)


def test_both_searches() -> None:
    src, said = HELD_OUT[0].src, list[Any]()
    for device, use_cache in itertools.product(("cpu", DEVICE), (True, False)):
        model, ids = transformer().eval().to(device), src.to(device)
        options = {"max_len": 17, "use_cache": use_cache}
        found = greedy_search(model, ids, **options), *beam_search(model, ids, **options)
        said.append([[each.ids for each in hypotheses] for hypotheses in found])
    assert said == [said[0]] * 4


def test_a_translator() -> None:
    sentences = ["The dog sleeps.", "", "The old woman is reading a book."]
    ours, theirs = Translator.load("demo-en-fr"), Translator.load("demo-en-fr", DEVICE)
    assert theirs.translate(sentences) == ours.translate(sentences)
    found = theirs.attention(sentences[0])
    assert found.translation == ours.translate(sentences[:1])[0]
    assert isinstance(found.maps.cross, Elsewhere)
