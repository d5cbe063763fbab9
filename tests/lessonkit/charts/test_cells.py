"""Matrices in a chart: how they are stored."""

import torch

from lessonkit.charts.cells import pack


def test_cells_are_packed_row_by_row() -> None:
    assert pack(torch.tensor([[0.0, 1.0, 0.126], [0.5, 0.004, 0.25]])) == "0,100,13,50,0,25"
