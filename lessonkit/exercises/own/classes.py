"""The classes to write, with their cases and their likely mistakes: edits of `reference`."""

import torch
from torch import Tensor, nn

from lessonkit.exercises.own.class_exercise import ClassExercise, CodeCase
from lessonkit.exercises.own.reference import (
    MyAttention,
    MyDecoderLayer,
    MyEmbedding,
    MyEncoderLayer,
    MyResidual,
    MyStack,
    MyTransformer,
)
from lessonkit.exercises.random_tensors import make_normal_sampler
from transformer.config import PAD_ID
from transformer.masks import causal_mask, padding_mask

_draw_normal = make_normal_sampler(2)


def _draw_rounded_normal(*size: int) -> Tensor:
    return _draw_normal(*size).round(decimals=1)


def _mask_hiding_last_key(batch: int, length: int) -> Tensor:
    mask = torch.ones(batch, 1, 1, length, dtype=torch.bool)
    mask[0, ..., -1] = length == 1
    return mask


def _attention_code_cases() -> list[CodeCase]:
    cases: list[CodeCase] = []
    for d_model, heads, batch, q_len, k_len in (
        (2, 1, 1, 1, 2),
        (4, 2, 1, 3, 2),
        (4, 2, 1, 2, 2),
        (6, 3, 2, 3, 5),
        (10, 2, 3, 5, 7),
    ):
        inputs = {
            "query": _draw_rounded_normal(batch, q_len, d_model),
            "memory": _draw_rounded_normal(batch, k_len, d_model),
        }
        inputs["mask"] = _mask_hiding_last_key(batch, k_len)
        cases += [
            ("mine(query, memory, mask)", (d_model, heads), inputs),
            ("mine(query, memory, mask)[0]", (d_model, heads), inputs),
        ]
    query = _draw_rounded_normal(2, 3, 6)
    cases.append(("mine(query, query, mask)", (6, 2), {"query": query, "mask": causal_mask(3)}))
    other_mask, shorter = (
        "query, memory, mask | True",
        "query[:, 1:], memory[:, 1:], mask[..., :-1]",
    )
    for _, sizes, inputs in (cases[4], cases[6]):  # one instance, called with one mask and another
        cases.append(
            (f"[mine(query, memory, mask), mine({other_mask}), mine({shorter})]", sizes, inputs)
        )
    return cases


attention = ClassExercise(MyAttention, handle="own.attention", cases=_attention_code_cases())

embedding = ClassExercise(
    MyEmbedding,
    handle="own.embedding",
    cases=[
        *(
            ("mine(ids)", sizes, {"ids": torch.tensor(ids)})
            for sizes, ids in (
                ((5, 2), [[3]]),
                ((7, 4), [[4, 5]]),
                ((7, 4), [[4], [5]]),
                ((11, 6), [[4, 5, 10], [6, 6, 0]]),
                ((11, 6), [[4, 5, 10, 6], [6, 6, 0, 4]]),
                ((5, 4), [[4] * 40]),
            )
        ),
        (
            "[mine(short), mine(long), mine(short)]",
            (5, 2),
            {"short": torch.tensor([[4]]), "long": torch.tensor([[3, 4], [4, 4]])},
        ),
    ],
    is_moved=True,
)


residual = ClassExercise(
    MyResidual,
    handle="own.residual",
    cases=[
        *(
            (f"mine(x, {sublayer})", (width,), {"x": _draw_rounded_normal(1, 2, width)})
            for width in (2, 3, 5)
            for sublayer in ("torch.tanh", "lambda y: y.flip(1)", "lambda y: 2 * y")
        ),
        # Where everything is dropped, x is left; in evaluation nothing is dropped. The value is a
        # list, so that no gradients are compared: dropout would change them.
        (
            "[mine.train()(x, torch.cos), mine.eval()(x, torch.cos)]",
            (2, 1.0),
            {"x": torch.tensor([[[0.5, -1.0], [2.0, 0.3]]])},
        ),
    ],
)


def _encoder_or_decoder_layer_cases(
    call: str, shorter: str, names: tuple[str, ...]
) -> list[CodeCase]:
    """Source and target of unlike lengths and of like, and what one instance does twice.

    Args:
        call: Of the layer, as code.
        shorter: The same with less of each input.
        names: Of the inputs.
    """
    cases: list[CodeCase] = []
    for sizes, batch, src_len, tgt_len in (
        ((2, 3, 1), 1, 1, 2),
        ((4, 3, 2), 1, 3, 2),
        ((4, 3, 2), 1, 2, 2),
        ((6, 5, 3), 2, 5, 3),
    ):
        memory, x = (_draw_rounded_normal(batch, length, sizes[0]) for length in (src_len, tgt_len))
        every = {
            "x": x if "memory" in names else memory,
            "memory": memory,
            "tgt_mask": causal_mask(tgt_len),
            "src_mask": _mask_hiding_last_key(batch, src_len),
        }
        cases.append((call, sizes, {name: every[name] for name in names}))
    again = call.replace("x,", "2 * x,")
    others = f"{call.replace('mask', 'mask | True')}, {shorter}"
    return [
        *cases,
        (f"[{call}, {again}, {call}]", *cases[-1][1:]),
        (f"[{call}, {others}]", *cases[1][1:]),
        (f"[{call}, {others}]", *cases[-1][1:]),
    ]


encoder_layer = ClassExercise(
    MyEncoderLayer,
    handle="own.encoder_layer",
    cases=_encoder_or_decoder_layer_cases(
        "mine(x, src_mask)", "mine(x[:, 1:], src_mask[..., :-1])", ("x", "src_mask")
    ),
)

decoder_layer = ClassExercise(
    MyDecoderLayer,
    handle="own.decoder_layer",
    cases=_encoder_or_decoder_layer_cases(
        "mine(x, memory, tgt_mask, src_mask)",
        "mine(x[:, 1:], memory[:, 1:], tgt_mask[..., 1:, 1:], src_mask[..., :-1])",
        ("x", "memory", "tgt_mask", "src_mask"),
    ),
)


class LinearPlusContext(nn.Linear):
    """A layer as small as can be: a linear map, and what its context adds."""

    def forward(self, x: Tensor, *context: Tensor) -> Tensor:
        """Map, and add."""
        return super().forward(x) + sum(context)


stack = ClassExercise(
    MyStack,
    handle="own.stack",
    cases=[
        (f"mine(x, {context})", (width, num_layers), {"x": _draw_rounded_normal(1, 2, width)})
        for width, num_layers in ((2, 1), (2, 2), (3, 3), (5, 2))
        for context in ("x", "x, x.flip(1)")
    ],
    construct=lambda build, width, num_layers: build(
        [LinearPlusContext(width, width) for _ in range(num_layers)], width
    ),
)


def _transformer_code_cases() -> list[CodeCase]:
    """Both ways together; then each by itself, as training, a search and a cache call them."""
    cases: list[CodeCase] = [
        ("mine(src, tgt_in)", sizes, {"src": torch.tensor(src), "tgt_in": torch.tensor(tgt_in)})
        for sizes, src, tgt_in in (
            ((5, 4, 3, 2, 1), [[4]], [[1, 4]]),
            ((7, 4, 3, 2, 1), [[4, 6]], [[1, 5, 4]]),
            ((7, 4, 3, 2, 2), [[4, 6], [5, 6]], [[1, 5], [1, 4]]),
            ((11, 6, 5, 3, 2), [[4, 5, 6, 2, PAD_ID], [7, 8, 9, 10, 2]], [[1, 4, 5], [1, 6, 7]]),
        )
    ]
    src, tgt_in = torch.tensor([[4, 6, PAD_ID], [5, 6, 4]]), torch.tensor([[1, 5], [1, 4]])
    mask, memory, sizes = padding_mask(src), _draw_rounded_normal(2, 3, 4), (7, 4, 3, 2, 1)
    given = {"tgt_in": tgt_in, "memory": memory, "mask": mask}
    encode, decode = "mine.encode(src, mask)", "mine.decode(tgt_in, memory, mask)"
    cases += [
        (encode, sizes, {"src": src, "mask": mask}),
        (decode, sizes, given),  # of a memory from elsewhere
        (decode, sizes, {**given, "memory": memory[:1], "tgt_in": tgt_in[:1], "mask": mask[:1]}),
        ("mine.decode(tgt_in, memory, mask, None)", sizes, given),
        (
            f"[mine.encode(src, mask), {decode}, mine.encode(src, mask)]",
            sizes,
            {**given, "src": src},
        ),
        (f"[{decode}, mine.decode(tgt_in[:, :1], memory, mask), {decode}]", sizes, given),
        (
            "[mine(src, tgt_in), mine(src.flip(0), tgt_in), mine(src[:, :-1], tgt_in[:, 1:])]",
            sizes,
            {"src": src, "tgt_in": tgt_in},
        ),
        ("mine(ids, ids)", (5, 4, 3, 2, 1), {"ids": torch.tensor([[3, 4] * 20])}),
    ]
    return cases


transformer = ClassExercise(
    MyTransformer,
    handle="own.transformer",
    cases=_transformer_code_cases(),
)
