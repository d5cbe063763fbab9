"""The demo model exported for each engine, once."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engines.folder import export_model

SERVING = {
    "ctranslate2": ["ctranslate2"],
    "onnx": ["onnx", "onnxruntime"],
    "transformers": ["transformers"],  # of the extra [foreign]
}


def require(engine: str) -> None:
    """Skip where the extra [export] is not installed."""
    for package in SERVING[engine]:
        pytest.importorskip(package, reason="needs the extra [export]")


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Return a function that exports a shipped model for an engine, once."""
    folders: dict[tuple[str, str], Path] = {}

    def export(model: str, engine: str) -> Path:
        require(engine)
        if (model, engine) not in folders:
            out = tmp_path_factory.mktemp(engine) / model
            folders[model, engine] = export_model(model, engine, out)
        return folders[model, engine]

    return export


@pytest.fixture(params=["ctranslate2", "onnx"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine that serves without torch, if its packages are here."""
    require(request.param)
    return str(request.param)


def served(folder: Path, engine: str) -> Any:
    """Load what was exported as translate.py does, on one thread."""
    module = importlib.import_module(f"engines.serve_{engine}")
    return module.Translator(folder, threads=1)
