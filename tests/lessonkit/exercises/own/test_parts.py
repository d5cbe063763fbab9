"""The classes of one's own: right ones pass, each likely mistake is known, nothing raises."""

from typing import Any

import pytest

from lessonkit.exercises import own
from lessonkit.exercises.mistakes import edited
from lessonkit.exercises.own.part import Part
from lessonkit.exercises.own.reference import (
    MyAttention,
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
