"""What is lost without each head, drawn from a record."""

from lessonkit.charts.plots.removals import draw_removals
from matplotlib import pyplot as plt

from transformer.support.files import read_json
from transformer.support.paths import results_folder


def figures(lost: float, p: float) -> dict[str, float]:
    return {"beam": 90 - lost, "greedy": 80 - lost, "low": -lost - 1, "high": 1 - lost, "p": p}


def test_each_cost_stands_in_its_cell() -> None:
    heads = {
        f"{stack} {layer}.{head}": (10.0 * layer + head, 0.001 if stack == "cross" else 0.01)
        for stack in ("encoder", "decoder", "cross")
        for layer in (1, 2, 3)
        for head in (1, 2)
    }
    zero = {name: figures(*each) for name, each in heads.items()}
    mean = {name: figures(lost - 40, p) for name, (lost, p) in heads.items()}
    whole = {"beam": 90.0, "greedy": 80.0}
    record = {"figures": {"whole": whole, "zero": {"heads": zero}, "mean": {"heads": mean}}}
    _, axes = plt.subplots(2, 3)
    draw_removals(record, axes, highest=40)
    written = [{t.get_position(): t.get_text() for t in ax.texts} for ax in axes.flat]
    assert written[0] == written[1] == written[2]
    assert [written[0][0, 2], written[0][1, 0]] == ["31.0", "12.0"]
    assert [written[5][0, 2], written[5][1, 0]] == ["-9.0", "-28.0"]
    assert [len(ax.patches) for ax in axes.flat] == [0, 0, 6, 0, 0, 6]  # p below 0.01 alone
    assert axes[1, 2].get_title() == "cross, by mean"
    plt.close("all")


def test_the_records_can_be_drawn() -> None:
    for name in ("demo-en-fr", "de-en"):
        record = read_json(results_folder() / "heads" / f"{name}.json")
        _, axes = plt.subplots(2, 3)
        draw_removals(record, axes, highest=5)
        assert sum(len(ax.texts) for ax in axes.flat) == 2 * len(record["figures"]["zero"]["heads"])
    plt.close("all")
