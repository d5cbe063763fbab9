"""Each room's door gives what it names, and opens without loading it."""

import ast
import json
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import lessonkit
import transformer
from attention_course.command_line import make_parser
from lessonkit import analysis, charts
from tests.helpers import ROOT, commands_of, python

# A package whose table of exports is repeated in a block of imports for editors.
EXPORTING = [transformer, lessonkit, analysis, charts]


@pytest.mark.parametrize("package", EXPORTING, ids=lambda package: package.__name__)
def test_a_package_exports_what_its_modules_define(package: ModuleType) -> None:
    shown_to_editors = imports_for_editors(package)
    assert set(dir(package)) == set(package.__all__) == set(shown_to_editors)
    for name, module in shown_to_editors.items():
        assert getattr(package, name) is exported(module, name)
    with pytest.raises(AttributeError, match=r"has no .*'Transfomer'"):
        package.Transfomer  # noqa: B018


def imports_for_editors(package: ModuleType) -> dict[str, str]:
    """The module of each name that an `if TYPE_CHECKING:` block imports."""
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    modules = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            module = str(node.module)
            names = import_module(module).__all__ if alias.name == "*" else [alias.name]
            modules |= dict.fromkeys(names, module)
    return modules


def exported(module: str, name: str) -> object:
    """What `from module import name` gives: a name of the module, or a submodule."""
    found = import_module(module)
    return getattr(found, name) if hasattr(found, name) else import_module(f"{module}.{name}")


HEAVY = """
import sys, transformer, lessonkit, lessonkit.analysis, lessonkit.charts
from attention_course.command_line import main
for command in sys.argv[1:]:
    try: main([*command.split(), '--help'])
    except SystemExit: pass
heavy = {'torch', 'numpy', 'matplotlib', 'altair', 'spacy', 'tokenizers'} & set(sys.modules)
print(sorted(heavy), file=sys.stderr)
"""


def test_a_door_and_help_load_nothing_heavy() -> None:
    commands = ["", *commands_of(make_parser())]
    assert python("-c", HEAVY, *commands).stderr == "[]\n"


def test_lessons_come_in_by_the_door_and_import_no_experiments() -> None:
    for file in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code") + "\n"
        beside = re.findall(r"(?:from|import) (?:experiments|lessonkit\.analysis\.)", code)
        assert not beside, file.name
        for names in re.findall(r"from lessonkit\.analysis import \(?([^)]*?)\)?\n(?! )", code):
            assert set(re.findall(r"\w+", names)) <= set(analysis.__all__), file.name
