"""Heads and the ablation: tables of figures, each head in its place, every choice its row."""

import json
from itertools import product
from typing import Any

import altair as alt
import pytest
import torch
import vl_convert
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from lessonkit.analysis.ablation import (
    EDGE_KIND_BY_STACK,
    SOURCE_HIDDEN_BEFORE_ENCODER,
    ZERO_HEAD_KIND,
    AblationStudy,
)
from lessonkit.analysis.activations import next_token_probabilities
from lessonkit.analysis.heads import Head, all_heads
from lessonkit.charts import draw_head_ablations, draw_head_grid, heads_explorer
from lessonkit.charts.ablation import NO_ABLATION_KIND, ablation_explorer
from lessonkit.charts.ablation_views import CHART_WIDTH_PIXELS, FONT_POINTS, draw_token_lines
from lessonkit.charts.heads import THUMBNAIL_DRAWN_SIDE_SHARE, THUMBNAIL_PIXELS
from lessonkit.charts.renderer import PICTURE_VEGALITE_VERSION
from lessonkit.charts.style import INK_COLOUR, TARGET_COLOUR
from tests.helpers import vega
from transformer.config import BOS_ID, SPECIAL_TOKENS
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.support.folders import results_folder

OVERVIEW, LARGE, SENTENCE, TRANSLATION = (0, 0), (0, 1), 1, 2  # where they stand
ROWS = {"encoder": 4, "decoder": 3, "cross": 3}


def test_a_grid_has_layers_down_heads_across_and_frames(ax: Axes) -> None:
    losses = torch.tensor([[0.1, 0.25, -0.004], [2.0, 0.04, 3.96]])
    framed = torch.tensor([[False, True, False], [False, False, True]])
    assert draw_head_grid(losses, ax, "nats", highest=4.0, framed=framed) is ax
    written = {t.get_position(): (t.get_text(), t.get_color()) for t in ax.texts}
    assert written[2, 0] == ("0.0", "white")  # a loss of nothing has no sign
    assert (written[1, 1], written[2, 1]) == (("0.0", "white"), ("4.0", "black"))
    assert ax.images[0].get_clim() == (0, 4.0)
    middles = [(p.get_x() + p.get_width() / 2, p.get_y() + p.get_height() / 2) for p in ax.patches]
    assert [(round(x), round(y)) for x, y in middles] == [(1, 0), (2, 1)]


def test_the_records_of_removed_heads_can_be_drawn() -> None:
    record = read_json(results_folder() / "heads" / "de-en.json")
    _, axes = plt.subplots(2, 3)
    draw_head_ablations(record, axes, highest=5)
    for way, row in zip(("zero", "mean"), axes, strict=True):
        ax, figures = row[2], record["figures"]
        assert ax.get_title() == f"cross, by {way}"
        cross = {name: each for name, each in figures[way]["heads"].items() if "cross" in name}
        written = {t.get_position(): t.get_text() for t in ax.texts}
        for name, each in cross.items():
            layer, head = map(int, name.split()[1].split("."))
            lost = figures["whole"]["beam"] - each["beam"]
            assert float(written[head - 1, layer - 1]) == pytest.approx(lost, abs=0.0501)
        assert len(ax.patches) == sum(each["p"] < 0.01 for each in cross.values())


PLACES = product(ROWS, range(1, vega.NUM_LAYERS + 1), range(1, vega.NUM_HEADS + 1))
SANS = {head: f"sans {head}" for head in (Head(*place) for place in PLACES)}
WITHOUT = {"by zero": SANS, "by its mean": dict.fromkeys(SANS, "le chat")}


@pytest.fixture(scope="module")
def spec() -> vega.Spec:
    return heads_explorer(vega.some_attention(), 1, WITHOUT).to_dict()


@pytest.mark.parametrize("stack", ROWS)
def test_the_overview_has_every_head_in_its_place(spec: vega.Spec, stack: str) -> None:
    overview = vega.part(vega.with_controls(spec, stack=stack), *OVERVIEW, 0)
    vega.as_text(overview, "format(datum.value, '.2f')")
    for side in ("x2", "y2"):
        del overview["encoding"][side]
    weights = getattr(vega.some_attention().maps, stack)[:, 0]
    q_len, k_len = weights.shape[2:]
    marks = vega.texts(overview, "role-mark")
    assert len(marks) == weights.numel()
    for text, x, y in marks:
        head, column = (
            int(x // THUMBNAIL_PIXELS),
            (x % THUMBNAIL_PIXELS) / (THUMBNAIL_PIXELS * THUMBNAIL_DRAWN_SIDE_SHARE) * k_len,
        )
        layer, row = (
            int(y // THUMBNAIL_PIXELS),
            (y % THUMBNAIL_PIXELS) / (THUMBNAIL_PIXELS * THUMBNAIL_DRAWN_SIDE_SHARE) * q_len,
        )
        expected = weights[layer, head, round(row), round(column)].item()
        assert float(text) == pytest.approx(expected, abs=0.0051)


def test_the_sentence_shows_the_query_s_row(spec: vega.Spec) -> None:
    for stack, query, said, keys in (
        ("encoder", 2, vega.SRC[1], vega.SRC[:-1]),
        ("decoder", 3, vega.SAID[2], [SPECIAL_TOKENS[BOS_ID], *vega.SAID[:2]]),
        ("cross", 4, vega.SAID[2], vega.SRC[:-1]),  # past the last row: the last
    ):
        moved = vega.with_controls(spec, stack=stack, layer=2, head=3, query=query)
        row = min(query, ROWS[stack])
        assert vega.title(vega.part(moved, SENTENCE)) == f"query {row}, {said}, attends to"
        shown = vega.values(moved, (SENTENCE, 0), "datum.key", "format(datum.value, '.2f')")
        weights = getattr(vega.some_attention().maps, stack)[1, 0, 2, row - 1]
        assert [key for key, _ in shown] == keys
        drawn = torch.tensor([float(value) for _, value in shown])
        torch.testing.assert_close(drawn, weights, atol=0.0051, rtol=0)


def test_a_removed_head_s_translation_is_written_in_another_colour(spec: vega.Spec) -> None:
    assert "a control removes the chosen head" in spec["description"]
    for way, text, colour, heading in (
        ("no", "le chat", INK_COLOUR, "Translation with encoder 2.3"),
        ("by zero", "sans encoder 2.3", TARGET_COLOUR, "Translation without encoder 2.3, by zero"),
        ("by its mean", "le chat", INK_COLOUR, "Translation without encoder 2.3, by its mean"),
    ):
        moved = vega.with_controls(spec, stack="encoder", layer=2, head=3, remove=way)
        shown = vega.part(moved, TRANSLATION)
        assert [said for said, *_ in vega.texts(shown, "role-mark")] == [text]
        assert f'fill="{colour}"' in vl_convert.vegalite_to_svg(
            shown, vl_version=PICTURE_VEGALITE_VERSION
        )
        assert vega.title(shown) == heading


def test_frame_and_large_picture_follow_the_chosen_head_and_a_click_chooses_it(
    spec: vega.Spec,
) -> None:
    """Every rectangle knows its head: a click on one sets the values that the sliders move."""
    moved = vega.with_controls(spec, stack="encoder", layer=1, head=3)
    assert vega.title(vega.part(moved, *LARGE)) == "Encoder self-attention, layer 1, head 3"
    (corner,) = vega.values(moved, (*OVERVIEW, 1), "datum.left", "datum.right", "datum.top")
    assert [float(n) for n in corner] == [2, 2 + THUMBNAIL_DRAWN_SIDE_SHARE, 0]
    compiled = vl_convert.vegalite_to_vega(spec, vl_version=PICTURE_VEGALITE_VERSION)
    signals = {signal["name"]: signal for signal in compiled["signals"]}
    for part_of in ("layer", "head"):
        signal = signals[f"chosen_{part_of}"]
        (event,) = signal["on"][0]["events"]
        assert (event["type"], event["marktype"]) == ("click", "rect")
        assert f'datum["{part_of}"]' in signal["on"][0]["update"]
        assert signals[part_of]["update"] == f"chosen_{part_of}"


WOMAN, MAN = "The saleswoman is reading.", "The salesman is reading."
LINES, BARS = 0, 1


def explored(translator: Translator, sentence: str = WOMAN, **options: Any) -> vega.Spec:
    means = {head: torch.full((32,), 0.1) for head in all_heads(translator.model)}  # type: ignore[arg-type]
    return ablation_explorer(translator, sentence, means=means, other=MAN, **options).to_dict()


@pytest.fixture(scope="module")
def ablation(shipped: Translator) -> vega.Spec:
    return explored(shipped, kind=NO_ABLATION_KIND)


def drawn_bars(spec: vega.Spec) -> dict[str, list[float]]:
    """Each token's two probabilities."""
    found: dict[str, list[float]] = {}
    for token, chance in vega.values(
        spec, (BARS, 0), "datum.token", "format(datum.probability, '.2f')"
    ):
        found.setdefault(token, []).append(float(chance))
    return found


def test_the_next_token_is_asked_after_each_beginning(
    shipped: Translator, ablation: vega.Spec
) -> None:
    said = AblationStudy(shipped, WOMAN).baseline.ids
    moved = vega.with_controls(ablation, ablation=SOURCE_HIDDEN_BEFORE_ENCODER, key=1, next=1)
    assert vega.title(vega.part(moved, BARS)) == "What comes after: <bos> La"
    chances = next_token_probabilities(shipped, WOMAN, said[:1], before=[1])
    pieces = shipped.tgt_tokenizer.ids_to_pieces(list(range(len(chances))))
    for token, (_, new) in drawn_bars(moved).items():
        assert new == pytest.approx(float(chances[pieces.index(token)]), abs=0.0051)


@pytest.mark.parametrize(
    ("kind", "controls", "names"),
    [
        (NO_ABLATION_KIND, set(), set()),
        (SOURCE_HIDDEN_BEFORE_ENCODER, {"key"}, {"place 1: saleswoman"}),
        (
            EDGE_KIND_BY_STACK["encoder"],
            {"key", "query"},
            {"query 3: reading", "key 1: saleswoman"},
        ),
        (EDGE_KIND_BY_STACK["cross"], {"key", "query"}, {"query 3: .", "key 1: saleswoman"}),
        (EDGE_KIND_BY_STACK["decoder"], {"key", "query"}, {"query 3: .", "key 1: La"}),
        (ZERO_HEAD_KIND, {"head"}, {"head encoder 1.1"}),
    ],
)
def test_the_line_under_the_title_names_the_controls_that_play_a_part_and_no_other(
    ablation: vega.Spec, kind: str, controls: set[str], names: set[str]
) -> None:
    def line(**moved: object) -> str:
        settings = {"ablation": kind, "key": 1, "query": 3} | moved
        chart = vega.part(vega.with_controls(ablation, **settings), LINES, -1)
        return " ".join(text for text, *_ in vega.texts(chart, "role-mark"))

    moves = {"key": 0, "query": 2, "head": "decoder 1.3"}
    assert {name for name, value in moves.items() if line(**{name: value}) != line()} == controls
    assert set(filter(None, line().split(" · "))) == names


def test_the_stored_data_of_an_explorer_are_few(ablation: vega.Spec) -> None:
    assert len(json.dumps(ablation)) < 200_000


@pytest.mark.parametrize("chosen", [0, 29, 58])
def test_lines_of_a_long_sentence_are_as_wide_as_the_chart_and_show_the_chosen_token(
    chosen: int,
) -> None:
    words = [f"▁word{number}" for number in range(59)]
    rows = [{"line": line, "label": "", "tokens": words} for line in (0, 1)]
    views = {"src": words, "said": words}
    settings = {"ablation": SOURCE_HIDDEN_BEFORE_ENCODER, "key": chosen, "next": chosen, "head": ""}
    chart = alt.layer(draw_token_lines(edges=False), data=alt.Data(values=rows)).add_params(
        *(alt.param(name=name, value=value) for name, value in settings.items()),
        alt.param(name="views", value=views),
    )
    drawn = vega.texts(chart.to_dict(), "role-mark")
    shown = [int(text.removeprefix("▁word")) for text, *_ in drawn if text.startswith("▁word")]
    assert shown.count(chosen) == 2, "in the source and in the translation"
    assert sorted(shown) == sorted([*range(min(shown), max(shown) + 1)] * 2)
    assert 12 < len(shown) < 40
    assert float(vega.drawing(chart.to_dict()).attrib["width"]) < 1.05 * CHART_WIDTH_PIXELS


def test_tokens_of_wide_letters_do_not_overlap() -> None:
    tokens = ["▁ファイル", "を", "オープンできません", "。"]
    rows = [{"line": line, "label": "", "tokens": tokens} for line in (0, 1)]
    settings = {"ablation": SOURCE_HIDDEN_BEFORE_ENCODER, "key": 0, "next": 0, "head": ""}
    lines = draw_token_lines(edges=False, wide_letters=True)
    chart = alt.layer(lines, data=alt.Data(values=rows)).add_params(
        *(alt.param(name=name, value=value) for name, value in settings.items()),
        alt.param(name="views", value={"src": tokens, "said": tokens}),
    )
    drawn = vega.texts(chart.to_dict(), "role-mark")
    # Each token stands in both lines at the same place.
    middles = [next(x for text, x, _ in drawn if text == token) for token in tokens]
    half_widths = [FONT_POINTS * len(token.removeprefix("▁")) / 2 for token in tokens]
    for place in range(3):
        room = middles[place + 1] - middles[place]
        assert room > half_widths[place] + half_widths[place + 1]


def test_what_the_ablation_explorer_refuses(shipped: Translator) -> None:
    with pytest.raises(UserError, match="unknown ablation 'an edge of the encoder': did you mean"):
        explored(shipped, edges=False, kind="an edge of the encoder")
    with pytest.raises(UserError, match="place or key is 40: the slider goes from 0 to"):
        explored(shipped, key=40)
    long = "The old dog sees the small cat and " * 5 + "the bird sings."
    with pytest.raises(UserError, match="give a shorter sentence"):
        explored(shipped, long)
