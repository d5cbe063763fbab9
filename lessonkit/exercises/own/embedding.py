"""An embedding with positions of one's own (§3.4, §3.5), and its likely mistakes."""

import torch
from torch import Tensor

from lessonkit.exercises.own.part import Part
from lessonkit.exercises.own.reference import MyEmbedding


class _WordsUnscaled(MyEmbedding):
    """Leave out the factor sqrt(d_model)."""

    def forward(self, ids: Tensor) -> Tensor:
        self.scale = 1.0
        return super().forward(ids)


class _SumScaled(MyEmbedding):
    """Scale the positions too."""

    def forward(self, ids: Tensor) -> Tensor:
        return (self.token(ids) + self.waves[: ids.shape[1]]) * self.scale


class _NoPlaces(MyEmbedding):
    """Leave out the positions."""

    def forward(self, ids: Tensor) -> Tensor:
        return self.token(ids) * self.scale


class _PlacesFromOne(MyEmbedding):
    """Begin to count at 1."""

    def forward(self, ids: Tensor) -> Tensor:
        return self.token(ids) * self.scale + self.waves[1 : ids.shape[1] + 1]


class _SentencesNumbered(MyEmbedding):
    """Give every sentence of the batch, not every token, its own position."""

    def forward(self, ids: Tensor) -> Tensor:
        return self.token(ids) * self.scale + self.waves[: ids.shape[0], None]


embedding = Part(
    MyEmbedding,
    handle="own.embedding",
    lesson="03",
    call=lambda module, ids: module(ids),
    sizes=2,
    cases=[
        (5, 2, torch.tensor([[3]])),
        (7, 4, torch.tensor([[4, 5]])),
        (7, 4, torch.tensor([[4], [5]])),
        (11, 6, torch.tensor([[4, 5, 10], [6, 6, 0]])),
    ],
    minutes=5,
    hints=(
        "Two things are added: the token's vector, scaled, and its place's.",
        "The scale is the square root of d_model, and it belongs to the token's vector alone.",
        "self.waves[: ids.shape[1]] are the vectors of the places, from 0.",
    ),
    wrong=[
        (
            _WordsUnscaled,
            "The tokens' vectors are multiplied by the square root of d_model (§3.4).",
        ),
        (_SumScaled, "Only the tokens' vectors are scaled, not the waves."),
        (_NoPlaces, "Nothing here depends on the place: where are the waves?"),
        (_PlacesFromOne, "The first place is 0."),
        (
            _SentencesNumbered,
            "The waves run along the tokens of a sentence, not along the sentences of the batch.",
        ),
    ],
)
