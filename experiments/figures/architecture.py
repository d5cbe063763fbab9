"""The architecture as a drawing: both stacks, and what flows between them (§3, Fig. 1)."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from experiments.figures.shapes import (
    MONO,
    Box,
    Point,
    arrow,
    draw_box,
    draw_circle,
    draw_frame,
    name,
    shape,
    sheet,
    words,
)
from lessonkit.charts.style import CROSS, PAPER, SOURCE, TARGET, mix

SIZE: Point = (674, 612)  # points

WIDTH, TALL, LOW = 152, 40, 22  # of a box, of a sub-layer, of a residual frame: points
EMBEDDED, SUMMED = 76, 120  # heights of the embedding and of the sum over it
FIRST = 176  # lower edge of the first sub-layer
RISE = TALL + LOW + 34  # from one sub-layer to the next


class Stack(NamedTuple):
    """One side of the drawing: its middle, its outer side (-1 left, 1 right), its colour."""

    x: float
    side: int
    colour: str

    @property
    def margin(self) -> float:
        """Where the names beside the boxes begin, or end at the left."""
        return self.x + self.side * (WIDTH / 2 + 28)

    @property
    def ha(self) -> str:
        """How those names are aligned: towards the boxes."""
        return "right" if self.side < 0 else "left"


ENCODER, DECODER = Stack(218, -1, SOURCE), Stack(446, 1, TARGET)


def draw_architecture(ax: Axes) -> Axes:
    """Draw the encoder, the decoder, and our names for every part (§3, Fig. 1), of size `SIZE`."""
    sheet(ax, SIZE)
    _draw_legend(ax)
    _draw_inputs(ax, ENCODER, "src", "the cat sleeps <eos>")
    _draw_inputs(ax, DECODER, "tgt_in, shifted right", "<bos> le chat dort")
    encoder = _draw_layers(ax, ENCODER, "EncoderLayer", ENCODER_PARTS)
    decoder = _draw_layers(ax, DECODER, "DecoderLayer", DECODER_PARTS)
    _draw_memory(ax, encoder)
    _draw_output(ax, decoder)
    return ax


# Sub-layers: name, what it does, colour, our name for it, section.
Part = tuple[str, str, str, str, str]
HEADS, TWO = "MultiHeadAttention", "§3.2.2, §3.2.3"
ENCODER_PARTS: tuple[Part, ...] = (
    ("Self-attention", "every token looks at all", SOURCE, HEADS, TWO),
    ("Feed-forward", "each position for itself", SOURCE, "FeedForward", "§3.3"),
)
DECODER_PARTS: tuple[Part, ...] = (
    ("Masked self-attention", "no token looks ahead", TARGET, HEADS, "with causal_mask, §3.2.3"),
    ("Cross-attention", "the target asks the source", CROSS, HEADS, TWO),
    ("Feed-forward", "each position for itself", TARGET, "FeedForward", "§3.3"),
)


def _draw_inputs(ax: Axes, stack: Stack, title: str, tokens: str) -> None:
    """Draw the tokens, their embedding, and the sum with the positions."""
    x, side = stack.x, stack.side
    words(ax, (x, 28), title, size=10, weight="bold")
    words(ax, (x, 13), tokens, size=9.5, family=MONO, color=mix(stack.colour, 1.2))
    box = Box(x, EMBEDDED, WIDTH, 34)
    draw_box(ax, box, stack.colour, "Embedding", "token vectors × √d_model")
    arrow(ax, (x, 37), box.bottom)
    plus = (([x - 4.95, x + 4.95], [SUMMED] * 2), ([x] * 2, [SUMMED - 4.95, SUMMED + 4.95]))
    total = draw_circle(ax, (x, SUMMED), 9, *plus)
    arrow(ax, box.top, total.bottom)
    steps, middle = np.linspace(-1, 1, 60), x + side * 58
    line = middle + 0.75 * 11 * steps, SUMMED + 0.45 * 11 * np.sin(np.pi * steps)
    wave = draw_circle(ax, (middle, SUMMED), 11, line)
    edges = (wave.right, total.left) if side < 0 else (wave.left, total.right)
    arrow(ax, *edges)
    name(ax, (stack.margin, EMBEDDED), "Embedding", "§3.4", stack.ha)
    name(ax, (stack.margin, SUMMED), "sinusoidal_positions", "§3.5", stack.ha)
    arrow(ax, total.top, (x, FIRST))


def _draw_layers(ax: Axes, stack: Stack, code: str, parts: tuple[Part, ...]) -> Box:
    """Draw one layer in its frame; give its topmost box."""
    x, side = stack.x, stack.side
    half = WIDTH / 2 + 22
    above = FIRST + len(parts) * RISE - 22
    draw_frame(ax, (x - half, FIRST - 30), (x + half, above), stack.colour)
    name(ax, (x + side * half, above + 9), f"N × {code}", "", "left" if side < 0 else "right")
    for index, (title, does, colour, module, where) in enumerate(parts):
        bottom = FIRST + index * RISE
        box = Box(x, bottom + TALL / 2, WIDTH, TALL)
        draw_box(ax, box, colour, title, does)
        name(ax, (stack.margin, box.y), module, where, stack.ha)
        norm = Box(x, bottom + TALL + LOW / 2, WIDTH, LOW)
        draw_box(ax, norm, PAPER, "add, then normalise")
        name(ax, (stack.margin, norm.y), "Residual", "§3.1", stack.ha)
        around, split = x + side * (WIDTH / 2 + 13), bottom - 16
        end = norm.left if side < 0 else norm.right
        arrow(ax, (x, split), (around, split), (around, norm.y), end, colour=PAPER)
        if index:
            arrow(ax, (x, bottom - 34), box.bottom)
    return norm


def _draw_memory(ax: Axes, encoder: Box) -> None:
    """Lead the encoder's output into the decoder's cross-attention."""
    x, y = encoder.top
    turn, high = (ENCODER.x + DECODER.x) / 2, y + 34
    goal = FIRST + RISE + TALL / 2
    edge = DECODER.x - WIDTH / 2
    for label, shift in (("V", 9), ("K", -9)):
        path = ((x, y), (x, high), (turn, high), (turn, goal + shift), (edge, goal + shift))
        arrow(ax, *path, colour=SOURCE)
        words(ax, (edge - 10, goal + shift + 6), label)
    words(ax, (DECODER.x + 8, goal - TALL / 2 - 7), "Q")
    words(ax, (turn, high + 21), "memory", size=10, weight="bold", ha="right")
    shape(ax, (turn, high + 9), "(batch, src_len, d_model)", "right")


def _draw_output(ax: Axes, decoder: Box) -> None:
    """Draw what stands over the decoder: linear map, softmax, and the shifted target."""
    x, y = decoder.top
    linear, softmax = Box(x, y + 58, WIDTH, 28), Box(x, y + 112, WIDTH, 28)
    arrow(ax, (x, y), linear.bottom)
    draw_box(ax, linear, TARGET, "Linear")
    name(ax, (DECODER.margin, linear.y), "Transformer.output", "§3.4", "left")
    arrow(ax, linear.top, softmax.bottom)
    shape(ax, (x + 8, y + 85), "logits (batch, tgt_len, vocab_size)")
    draw_box(ax, softmax, TARGET, "Softmax")
    name(ax, (DECODER.margin, softmax.y), "label_smoothing_loss", "and beam_search, §3.4", "left")
    arrow(ax, softmax.top, (x, y + 144))
    words(ax, (x, y + 152), "next token: tgt_out", size=10, weight="bold")
    words(ax, (x, y + 167), "le chat dort <eos>", size=9.5, family=MONO, color=mix(TARGET, 1.2))


def _draw_legend(ax: Axes) -> None:
    """Write the title and what the colours mean."""
    words(ax, (14, 588), "The Transformer", size=16, weight="bold", ha="left")
    words(ax, (14, 569), "after Figure 1 of the paper, drawn anew", size=9, color=PAPER, ha="left")
    rows = (
        (SOURCE, "encoder: reads the whole source at once"),
        (TARGET, "decoder: reads what is written so far"),
        (CROSS, "cross-attention: from target to source"),
        (PAPER, "around each sub-layer: LayerNorm(x + sub-layer(x))"),
    )
    for row, (colour, text) in enumerate(rows):
        y = 544 - 19 * row
        draw_box(ax, Box(22, y, 16, 12), colour)
        words(ax, (36, y), text, size=9, ha="left")
    name(ax, (14, 466), "Names", "", "left")
    words(ax, (46, 466), "are those of our package; § is the paper's section.", ha="left")
    words(ax, (14, 450), "Base model: N = 6 layers, d_model = 512.", ha="left")
    words(ax, (14, 436), "Inside, every arrow carries (batch, length, d_model).", ha="left")
