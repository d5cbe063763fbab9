"""A value that no code can count on."""


class Odd:
    """A value that refuses everything one may ask of it."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]
