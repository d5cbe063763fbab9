"""What several tests of experiments share."""

import pytest

from transformer.models.translator import Translator


@pytest.fixture(scope="session")
def shipped() -> Translator:
    return Translator.load("demo-en-fr")
