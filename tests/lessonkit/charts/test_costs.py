"""Costs: of layers (Table 1), of a model in parameters, of a step on machines."""

import math

import pytest

from lessonkit.analysis.roofline import (
    MACHINES,
    all_reduce_seconds,
    arithmetic_intensity,
    attainable_flops,
)
from lessonkit.charts import (
    TrainingStepCost,
    all_reduce_explorer,
    layer_costs_explorer,
    roofline_explorer,
)
from lessonkit.charts.all_reduce import TOKENS_PER_STEP_CHOICES
from lessonkit.charts.layer_costs import COST_EXPRS_BY_LAYER, COST_QUANTITIES
from tests.helpers.vega import points, title, with_controls

MODELS = {
    "small": TrainingStepCost(7_000_000, 11 * 10**11),
    "large": TrainingStepCost(300_000_000, 50 * 10**12),
}


def table_1(n: int, d: int, kernel: int, neighbours: int) -> dict[str, tuple[float, float, float]]:
    """Operations, sequential operations and path of each layer, as the paper has them."""
    near = min(neighbours, n)
    return {
        "self-attention": (n * n * d, 1, 1),
        "recurrent": (n * d * d, n, n),
        "convolution": (kernel * n * d * d, 1, math.log(n, kernel)),
        "restricted self-attention": (near * n * d, 1, n / near),
    }


@pytest.mark.parametrize("quantity", COST_QUANTITIES)
def test_costs_are_the_paper_s(quantity: str) -> None:
    spec = layer_costs_explorer().to_dict()
    moved = with_controls(spec, quantity=quantity, d=64, kernel=5, neighbours=4)
    drawn = points(moved, 0, "n", "cost")
    lengths = [2**power for power in range(13)]
    wanted = [
        (n, max(1, table_1(n, 64, 5, 4)[layer][COST_QUANTITIES.index(quantity)]))
        for layer in COST_EXPRS_BY_LAYER
        for n in lengths
    ]
    assert [n for n, _ in drawn] == [n for n, _ in wanted]
    assert [cost for _, cost in drawn] == pytest.approx([cost for _, cost in wanted], rel=1e-9)
    assert title(with_controls(spec, d=1024)).endswith("while n is under 1024")
    assert title(with_controls(spec, quantity="sequential")).startswith("Only the recurrent")


@pytest.mark.slow
@pytest.mark.parametrize(("power", "width", "place"), [(0, 128, 0), (5, 4096, 1), (13, 512, 2)])
def test_roof_and_product_are_computed_as_in_python(power: int, width: int, place: int) -> None:
    machine = MACHINES[place]
    spec = with_controls(
        roofline_explorer().to_dict(), log2_tokens=power, matrix_width=width, machine=machine.name
    )
    for x, y in points(spec, 0, "intensity", "rate"):
        assert y == pytest.approx(attainable_flops(machine, x), rel=1e-6)
    ((x, y),) = points(spec, 1, "intensity", "rate")
    assert x == pytest.approx(arithmetic_intensity(2**power, width, machine.number_bytes))
    assert y == pytest.approx(attainable_flops(machine, x))
    share = 100 * attainable_flops(machine, x) / machine.flops
    assert title(spec).endswith(f"at most {share:.0f}% of its peak")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "place", "power", "reached", "tokens"),
    [
        ("small", 0, 3, 40, TOKENS_PER_STEP_CHOICES[0]),
        ("large", 2, 5, 100, TOKENS_PER_STEP_CHOICES[2]),
    ],
)
def test_a_shared_step_is_computed_as_in_python(
    model: str, place: int, power: int, reached: int, tokens: int
) -> None:
    machine, shared, gpus = MACHINES[place], MODELS[model], 2**power
    moved = {"log2_gpus": power, "reached": reached, "machine": machine.name}
    spec = with_controls(all_reduce_explorer(MODELS).to_dict(), **moved, model=model, tokens=tokens)

    def computing(gpus: float) -> float:
        work = shared.flops * tokens / TOKENS_PER_STEP_CHOICES[0]
        return 1000 * work / (gpus * machine.flops * reached / 100)

    def exchanging(gpus: float) -> float:
        return 1000 * all_reduce_seconds(shared.parameters, int(gpus), machine.link)

    for layer, count in ((0, 8), (1, 1)):  # every number of GPUs, and the chosen
        drawn = points(spec, layer, "n", "milliseconds")
        both = [computing] * count + [exchanging] * count
        for part, (number, milliseconds) in zip(both, drawn, strict=True):
            assert milliseconds == pytest.approx(part(number), rel=1e-6)
    assert [number for number, _ in drawn] == [gpus, gpus]
    step = computing(gpus) + exchanging(gpus)
    said = f"{gpus} GPUs: a step of {step:.1f} ms, {100 * exchanging(gpus) / step:.0f}% of it"
    assert title(spec) == f"{said} exchange"
