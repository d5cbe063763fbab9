"""What a user gets to see of a mistake."""

import pytest

from transformer.errors import UserError, exit_status, unknown_name


def test_a_commands_own_status_is_kept() -> None:
    assert exit_status(lambda: 0) == 0
    assert exit_status(lambda: 130) == 130


def test_a_mistake_is_a_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        raise UserError("n is 0: give 1 or more")

    assert exit_status(command) == 2
    assert capsys.readouterr() == ("", "error: n is 0: give 1 or more\n")


def test_our_own_mistakes_are_not_hidden() -> None:
    def command() -> int:
        raise ValueError("not the user's")

    with pytest.raises(ValueError, match="not the user's"):
        exit_status(command)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trian", "unknown split 'trian': did you mean 'train'? (known: test, train)"),
        ("xyz", "unknown split 'xyz': (known: test, train)"),
    ],
)
def test_unknown_names(name: str, message: str) -> None:
    assert str(unknown_name("split", name, {"train", "test"})) == message
