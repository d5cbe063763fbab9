import pytest
from torch import nn

from attention_laws import Adapter, Verdict
from lessonkit.museum.layers import NormOverTime
from lessonkit.museum.masks import CausalInverted, NoCausalMask, OneAhead
from lessonkit.museum.specimen import turn
from tests.attention_laws.trying import small, tried
from transformer.model import Decoder

LAWS = ["no_future", "no_gradient_from_the_future"]


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "concatenated"])
def test_kept_by_a_sound_model(name: str, positions: str) -> None:
    width = {"position_dim": 4} if positions == "concatenated" else {}
    adapter = small(positions=positions, tie_softmax=False, **width)
    assert tried(adapter, name).verdict == Verdict.KEPT


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("fault", [NoCausalMask, CausalInverted, OneAhead])
def test_a_wrong_mask_is_found(name: str, fault: type[Decoder]) -> None:
    adapter = small()
    assert adapter.module is not None
    turn(adapter.module, Decoder, fault)
    assert tried(adapter, name).verdict == Verdict.BROKEN


@pytest.mark.parametrize("name", LAWS)
def test_a_norm_over_the_sentence_is_found(name: str) -> None:
    adapter = small()
    assert adapter.module is not None
    turn(adapter.module, nn.LayerNorm, NormOverTime)
    line = tried(adapter, name)
    assert line.verdict == Verdict.BROKEN
    assert line.seen.startswith("tgt_in [2, ")


def test_the_gradient_needs_an_embedding_to_look_at() -> None:
    adapter = small()
    line = tried(adapter.replace(module=nn.Linear(2, 2)), LAWS[1])
    assert (line.verdict, line.seen) == (
        Verdict.NOT_TRIED,
        "no nn.Embedding reads tgt_in as it is",
    )
    assert tried(adapter.replace(module=None), LAWS[1]).verdict == Verdict.NOT_TRIED


def test_a_function_without_module_is_tried() -> None:
    model = small().forward
    bare = Adapter(forward=lambda *ids: model(*ids), src_vocab_size=23, tgt_vocab_size=29)
    assert tried(bare, LAWS[0]).verdict == Verdict.KEPT
