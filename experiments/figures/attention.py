"""Attention as a drawing: one head box by box, and several side by side (§3.2, Fig. 2)."""

from matplotlib.axes import Axes

from experiments.figures.shapes import (
    Box,
    Point,
    arrow,
    draw_box,
    draw_frame,
    draw_pile,
    name,
    shape,
    sheet,
    words,
)
from lessonkit.charts.style import CROSS, OURS, PAPER, SOURCE, TARGET

SIZE: Point = (660, 496)  # points

CODE = "scaled_dot_product_attention"
BOTTOM = 78  # lower edge of the lowest boxes, points
QUERY, KEY, VALUE, INNER = TARGET, SOURCE, OURS, CROSS


def draw_attention_figure(ax: Axes) -> Axes:
    """Draw scaled dot-product and multi-head attention, with shapes (§3.2, Fig. 2), in `SIZE`."""
    sheet(ax, SIZE)
    for left, title, where, code in (
        (12, "Scaled dot-product attention", "§3.2.1, Eq. 1; Figure 2, left", CODE),
        (296, "Multi-head attention", "§3.2.2; Figure 2, right", "MultiHeadAttention"),
    ):
        words(ax, (left, 478), title, size=14, weight="bold", ha="left")
        words(ax, (left, 458), f"after the paper's {where}", size=9, color=PAPER, ha="left")
        name(ax, (left, 440), code)
    _draw_chain(ax)
    _draw_joined(ax, _draw_projections(ax))
    return ax


def _draw_input(ax: Axes, x: float, text: str, size: str) -> None:
    words(ax, (x, 36), text, size=11, weight="bold")
    shape(ax, (x, 20), size, "center")


def _draw_chain(ax: Axes) -> None:
    """Draw the five boxes of Eq. 1, from Q and K to the output."""
    draw_frame(ax, (10, 62), (252, 378), INNER)
    x, values = 102, 222
    steps = (
        ("multiply Q and Kᵀ", "each query meets each key"),
        ("divide by √d_k", "keep the scores small"),
        ("mask (optional)", "−∞ where it is forbidden"),
        ("softmax", "each row now sums to 1"),
        ("multiply with V", "average the values by weight"),
    )
    below = None
    for row, (text, under) in enumerate(steps):
        last = row == 4
        box = Box(x + 29 * last, BOTTOM + 19 + 61 * row, 164 + 58 * last, 38)
        draw_box(ax, box, PAPER, text, under)
        if below:
            arrow(ax, (x, below.top[1]), (x, box.bottom[1]))
            shape(ax, (x + 8, below.top[1] + 11), "(q_len, k_len)")
        below = box
    for column, letter, size, colour in (
        (x - 40, "Q", "(q_len, d_k)", QUERY),
        (x + 40, "K", "(k_len, d_k)", KEY),
    ):
        arrow(ax, (column, 46), (column, BOTTOM), colour=colour)
        _draw_input(ax, column, letter, size)
    arrow(ax, (values, 46), (values, box.bottom[1]), colour=VALUE)
    _draw_input(ax, values, "V", "(k_len, d_v)")
    arrow(ax, (x, box.top[1]), (x, 402))
    words(ax, (x, 412), "output", size=11, weight="bold")
    shape(ax, (x + 30, 412), "(q_len, d_v)")


def _draw_projections(ax: Axes) -> Box:
    """Draw the three projections and the heads; give the heads' box."""
    draw_frame(ax, (288, 62), (650, 390), PAPER)
    heads = Box(461, 206, 322, 40)
    columns = (
        (350, "query_projection", "(q_len, d_k)", QUERY),
        (461, "key_projection", "(k_len, d_k)", KEY),
        (572, "value_projection", "(k_len, d_v)", VALUE),
    )
    for x, code, size, colour in columns:
        box = Box(x, BOTTOM + 24, 100, 38)
        draw_pile(ax, box, colour, "Linear", code=code)
        arrow(ax, box.top, (x, heads.bottom[1]), colour=colour)
        shape(ax, (x + 7, 157), f"num_heads ×\n{size}")
    goal = BOTTOM + 5
    arrow(ax, (350, 46), (350, goal), colour=QUERY)
    memory = (461 + 572) / 2
    for x in (461, 572):
        arrow(ax, (memory, 46), (memory, 68), (x, 68), (x, goal), colour=KEY)
    _draw_input(ax, 350, "query", "(batch, q_len, d_model)")
    _draw_input(ax, memory, "memory", "(batch, k_len, d_model)")
    words(ax, (memory + 30, 36), "= query in self-attention", color=PAPER, ha="left")
    text = "scaled dot-product attention"
    return draw_pile(ax, heads, INNER, text, "num_heads of them, side by side")


def _draw_joined(ax: Axes, heads: Box) -> None:
    """Draw what makes one output of all heads."""
    x = heads.x
    joined, linear = Box(x, 283, 190, 38), Box(x, 351, 190, 38)
    arrow(ax, heads.top, joined.bottom, colour=INNER)
    shape(ax, (x + 8, 250), "num_heads × (q_len, d_v)")
    draw_box(ax, joined, PAPER, "concatenate", "the heads' outputs end to end")
    arrow(ax, joined.top, linear.bottom)
    shape(ax, (x + 8, 317), "(q_len, num_heads · d_v)")
    draw_box(ax, linear, PAPER, "Linear", code="output_projection")
    arrow(ax, linear.top, (x, 402))
    words(ax, (x, 412), "output", size=11, weight="bold")
    shape(ax, (x + 30, 412), "(batch, q_len, d_model)")
