"""The classes of one's own: right ones pass, each likely mistake is known, nothing raises."""

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


@pytest.mark.parametrize("part", own.PARTS, ids=repr)
def test_right_and_blank_and_every_mistake_with_its_own_hint(part: Part) -> None:
    assert part.check(part.written).status == "passed"
    assert part.check(None).status == part.check(...).status == "not attempted"
    assert set(part.hints_of) == set(part.wrong)
    for name, wrong in part.wrong.items():
        made = edited(part.written, *wrong) if isinstance(wrong, tuple) else wrong
        verdict = part.check(made)
        assert verdict.status == "wrong"
        said = " ".join(verdict.text.split())
        assert [other for other, hint in part.hints_of.items() if hint in said] == [name]


def test_dots_in_one_method_are_a_gap() -> None:
    class MyEmbedding(own.MyEmbedding):
        def forward(self, ids): ...

    assert own.embedding.check(MyEmbedding).status == "not attempted"


def test_other_names_of_weights_are_told() -> None:
    class MyAttention(own.MyAttention):
        def __init__(self, d_model, num_heads):
            super().__init__(d_model, num_heads)
            self.w_q = self.query_projection
            del self.query_projection

    said = own.attention.check(MyAttention).text
    assert "it has no weight called query_projection.weight (it has w_q.weight)" in said


def test_a_weight_too_many_is_told() -> None:
    class MyAttention(own.MyAttention):
        def __init__(self, d_model, num_heads):
            super().__init__(d_model, num_heads)
            self.more = nn.Linear(2, 2)

    assert "it has a weight more.weight" in own.attention.check(MyAttention).text


def test_a_weight_of_another_shape_is_told() -> None:
    class MyEmbedding(own.MyEmbedding):
        def __init__(self, vocab_size, d_model):
            super().__init__(vocab_size + 1, d_model)

    assert "the shape of token.weight is (6, 2), not (5, 2)" in (
        own.embedding.check(MyEmbedding).text
    )


def test_three_matrices_for_one_are_told() -> None:
    class MyTransformer(own.MyTransformer):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.output = nn.Linear(sizes[1], sizes[0], bias=False)

    assert "should be one matrix" in own.transformer.check(MyTransformer).text


def test_another_order_of_making_the_modules_changes_nothing() -> None:
    class MyTransformer(own.MyTransformer):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            for name in ("src_embedding", "tgt_embedding", "decoder"):
                module = getattr(self, name)
                delattr(self, name)
                setattr(self, name, module)

    assert own.transformer.check(MyTransformer).status == "passed"


@pytest.mark.parametrize("odd", [3, MyAttention(4, 2), "MyAttention", int, object])
def test_what_is_no_class_of_a_module_is_refused_without_a_traceback(odd: object) -> None:
    assert own.attention.check(odd).status == "wrong"


def test_an_error_shows_its_line() -> None:
    class MyEmbedding(own.MyEmbedding):
        def forward(self, ids):
            return self.tokens(ids)

    said = own.embedding.check(MyEmbedding).text
    assert "AttributeError" in said
    assert "own.embedding.hint() gives a hint." in said
    assert "return self.tokens(ids)" in said


def test_an_instance_in_place_of_the_class_is_told() -> None:
    assert "no brackets" in own.attention.check(MyAttention(4, 2)).text


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
