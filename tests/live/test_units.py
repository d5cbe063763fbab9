"""The page's files on cases done by hand, in JavaScript: see units.test.mjs."""

from tests.live.node import HERE, run_node


def test_cases_done_by_hand() -> None:
    said = run_node("--test", "--test-reporter=tap", HERE / "units.test.mjs")
    assert "# fail 0" in said
    assert "# pass 0" not in said
