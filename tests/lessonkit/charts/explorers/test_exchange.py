"""The browser's step of several GPUs is the package's."""

import pytest
from lessonkit.charts.explorers.exchange import TOKENS, Shared, exchange_explorer

from lessonkit.analysis.machines import MACHINES, exchange_seconds
from tests.helpers.vega import points, title, with_controls
from transformer.support.errors import UserError

MODELS = {"small": Shared(7_000_000, 11 * 10**11), "large": Shared(300_000_000, 50 * 10**12)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "place", "power", "reached", "tokens"),
    [
        ("small", 0, 3, 40, TOKENS[0]),
        ("large", 2, 5, 100, TOKENS[2]),
        ("small", 1, 1, 10, TOKENS[1]),
    ],
)
def test_both_parts_are_computed_as_in_python(
    model: str, place: int, power: int, reached: int, tokens: int
) -> None:
    machine, shared = MACHINES[place], MODELS[model]
    moved = {"log2_gpus": power, "reached": reached, "machine": machine.name}
    spec = with_controls(exchange_explorer(MODELS).to_dict(), **moved, model=model, tokens=tokens)

    def computing(gpus: float) -> float:
        work = shared.flops * tokens / TOKENS[0]
        return 1000 * work / (gpus * machine.flops * reached / 100)

    def exchanging(gpus: float) -> float:
        return 1000 * exchange_seconds(shared.parameters, int(gpus), machine.link)

    drawn = points(spec, 0, "n", "milliseconds")
    assert len(drawn) == 16
    for part, (gpus, milliseconds) in zip([computing] * 8 + [exchanging] * 8, drawn, strict=True):
        assert milliseconds == pytest.approx(part(gpus), rel=1e-6)
    chosen = points(spec, 1, "n", "milliseconds")
    gpus = 2**power
    expected = [(gpus, computing(gpus)), (gpus, exchanging(gpus))]
    assert chosen == [pytest.approx(each, rel=1e-6) for each in expected]
    step = computing(gpus) + exchanging(gpus)
    said = f"{gpus} GPUs: a step of {step:.1f} ms, {100 * exchanging(gpus) / step:.0f}% of it"
    assert title(spec) == f"{said} exchange"


def test_no_model_and_no_such_machine_are_refused() -> None:
    with pytest.raises(UserError, match="no model to share: give one or more"):
        exchange_explorer({})
    with pytest.raises(UserError, match="machine is H300: give one of P100 on PCIe"):
        exchange_explorer(MODELS, machine="H300")
