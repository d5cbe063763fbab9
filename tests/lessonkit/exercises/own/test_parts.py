"""The classes of one's own: right ones pass, each likely mistake is known, nothing raises."""

from typing import Any

import pytest
import torch
from torch import nn

from lessonkit.exercises import own
from lessonkit.exercises.mistakes import edited
from lessonkit.exercises.own.part import Part
from lessonkit.exercises.own.reference import (
    MyAttention,
    MyDecoderLayer,
    MyEmbedding,
    MyTransformer,
)

PARTS = [each for each in vars(own).values() if isinstance(each, Part)]


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_right_and_blank_and_every_mistake_with_its_own_hint(part: Part) -> None:
    assert part.check(part.written).status == "passed"
    assert part.settle(part.written) is part.settle(None) is part.written
    assert part.check(None).status == part.check(...).status == "not attempted"
    assert set(part.hints_of) == set(part.wrong)
    for name, wrong in part.wrong.items():
        made = edited(part.written, *wrong) if isinstance(wrong, tuple) else wrong
        verdict = part.check(made)
        assert verdict.status == "wrong"
        assert part.settle(made) is part.written
        said = " ".join(verdict.text.split())
        assert [other for other, hint in part.hints_of.items() if hint in said] == [name]


def test_dots_in_one_method_are_a_gap() -> None:
    class MyEmbedding(own.reference.MyEmbedding):
        def forward(self, ids): ...

    assert own.embedding.check(MyEmbedding).status == "not attempted"


@pytest.mark.parametrize(
    ("part", "edit", "says"),
    [
        (
            own.attention,
            ("self.query_projection = ", "self.w_q = ", "self.query_projection(", "self.w_q("),
            "it has no weight called query_projection.weight (it has w_q.weight)",
        ),
        (
            own.attention,
            ("= num_heads", "= num_heads; self.more = nn.Linear(2, 2)"),
            "it has a weight more.weight",
        ),
        (
            own.embedding,
            ("nn.Embedding(vocab_size,", "nn.Embedding(vocab_size + 1,"),
            "the shape of token.weight is (6, 2), not (5, 2)",
        ),
        (
            own.transformer,
            ("self.output.weight = self.tgt_embedding.token.weight", ""),
            "should be one matrix",
        ),
    ],
)
def test_weights_that_no_trained_model_fits_are_told(part: Part, edit: Any, says: str) -> None:
    assert says in part.check(edited(part.written, *edit)).text


def test_another_order_of_making_the_modules_changes_nothing() -> None:
    class MyTransformer(own.reference.MyTransformer):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            for name in ("src_embedding", "tgt_embedding", "decoder"):
                module = getattr(self, name)
                delattr(self, name)
                setattr(self, name, module)

    assert own.transformer.check(MyTransformer).status == "passed"


def test_what_is_no_class_of_a_module_is_refused_without_a_traceback() -> None:
    for odd in (3, MyAttention(4, 2), "MyAttention", int, object):
        assert own.attention.check(odd).status == "wrong"
    assert "no brackets" in own.attention.check(MyAttention(4, 2)).text


def test_an_error_shows_its_line() -> None:
    class MyEmbedding(own.reference.MyEmbedding):
        def forward(self, ids):
            return self.tokens(ids)

    said = own.embedding.check(MyEmbedding).text
    assert "AttributeError" in said
    assert "own.embedding.hint() gives a hint." in said
    assert "return self.tokens(ids)" in said


def test_hints_and_solution() -> None:
    hints = [own.attention.hint().text for _ in range(3)]
    assert hints[0].startswith("Hint 1 of 3.")
    assert hints[2].endswith("After this one there is own.attention.solution().")
    assert own.attention.solution().text.startswith("class MyAttention(nn.Module):")


def test_attention_is_pytorchs() -> None:
    torch.manual_seed(5)
    mine, theirs = MyAttention(6, 2), nn.MultiheadAttention(6, 2, bias=False, batch_first=True)
    parts = (mine.query_projection, mine.key_projection, mine.value_projection)
    theirs.in_proj_weight.data = torch.cat([part.weight.data for part in parts])
    theirs.out_proj.weight.data = mine.output_projection.weight.data
    query, memory = torch.randn(3, 5, 6), torch.randn(3, 7, 6)
    mask = torch.rand(3, 1, 1, 7) < 0.7
    mask[..., 0] = True
    output, weights = mine(query, memory, mask)
    wanted, wanted_weights = theirs(
        query, memory, memory, key_padding_mask=~mask[:, 0, 0], average_attn_weights=False
    )
    torch.testing.assert_close(output, wanted)
    torch.testing.assert_close(weights, wanted_weights)


def test_an_embedding_by_hand() -> None:
    embedding = MyEmbedding(5, 4)
    embedding.token.weight.data.fill_(3.0)
    found = embedding(torch.tensor([[4, 4]]))
    torch.testing.assert_close(found[0, 0], torch.tensor([6.0, 7.0, 6.0, 7.0]))


def test_no_position_sees_a_later_one() -> None:
    torch.manual_seed(7)
    model = MyTransformer(11, 6, 5, 3, 2).eval()
    src, tgt_in = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 6, 7, 8]])
    changed = tgt_in.clone()
    changed[0, 3] = 9
    before, after = model(src, tgt_in), model(src, changed)
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert (before[:, 3] - after[:, 3]).abs().max() > 0.01


def test_the_decoder_layer_ignores_padding() -> None:
    torch.manual_seed(7)
    layer = MyDecoderLayer(6, 5, 3)
    x, memory = torch.randn(1, 2, 6), torch.randn(1, 3, 6)
    mask = torch.tensor([[[[True, True, False]]]])
    everything = torch.ones(1, 1, 2, 2, dtype=torch.bool)
    changed = memory.clone()
    changed[:, 2] = 100
    torch.testing.assert_close(
        layer(x, memory, everything, mask), layer(x, changed, everything, mask)
    )
