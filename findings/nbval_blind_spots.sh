#!/usr/bin/env bash
# nbval 0.11.0, with ipykernel 7.4.0 and pytest 9.2.0.
#
# What a notebook's comparison with --nbval does not see:
# 1. A cell that was never executed passes, whatever it prints: it has nothing to compare with.
# 2. Of a display that is updated it sees the first state. A notebook that stores the last one, as
#    JupyterLab does, fails.
# 3. It sees what stood before clear_output. A notebook that stores what is left fails.
# 4. Outputs are compared kind by kind: printed text and displayed values may change places.
#
# Seen: each right or wrong notebook below, passed or failed as its name says.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check nbval==0.11.0 ipykernel==7.4.0 pytest==9.2.0
cat > make.py <<'PY'
import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output


def text(words):
    return new_output("stream", name="stdout", text=words)


def value(words):
    return new_output("display_data", data={"text/plain": words})


update = "handle = display('first', display_id=True)\nhandle.update('last')"
clear = "from IPython.display import clear_output\nprint('a')\nclear_output()\nprint('b')"
order = "display(5)\nprint('x')"
notebooks = {
    "passes_never_executed": new_code_cell("print(1 + 1)"),
    "passes_first_state": new_code_cell(update, outputs=[value("'first'")]),
    "fails_last_state": new_code_cell(update, outputs=[value("'last'")]),
    "passes_before_clear_output": new_code_cell(clear, outputs=[text("a\nb\n")]),
    "fails_after_clear_output": new_code_cell(clear, outputs=[text("b\n")]),
    "passes_another_order": new_code_cell(order, outputs=[text("x\n"), value("5")]),
}
for name, cell in notebooks.items():
    cell.execution_count = None if name == "passes_never_executed" else 1
    nbformat.write(new_notebook(cells=[cell]), f"{name}.ipynb")
PY
venv/bin/python make.py
venv/bin/python -m pytest -v --nbval --nbval-current-env . > said.txt 2>&1 || true
for notebook in *.ipynb; do
    name=${notebook%.ipynb}
    expected=PASSED
    if [[ $name == fails_* ]]; then expected=FAILED; fi
    grep "^$name::ipynb::Cell 0 $expected" said.txt || { echo "CHANGED: $name" && exit 1; }
done
echo "as described: nothing, too much, or another order to compare with"
