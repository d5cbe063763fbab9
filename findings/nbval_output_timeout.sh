#!/usr/bin/env bash
# nbval 0.11.0, with ipykernel 7.4.0 and pytest 9.2.0.
#
# --nbval-cell-timeout (2,000 s by default) limits the wait for a cell's reply alone. For each of
# the cell's messages on the iopub channel, the last "idle" included, nbval then waits 5 s. That
# number is fixed in the class IPyNbCell, and no option changes it. A kernel that replies in time
# but publishes late, as on a crowded machine, fails a right notebook. Here a hook delays "idle".
#
# Seen: "Timeout of 5 seconds exceeded waiting for output", with a cell limit of 600 s; and the
# same notebook passes when a conftest.py sets the attribute `output_timeout` of its cells.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check nbval==0.11.0 ipykernel==7.4.0 pytest==9.2.0
cat > make.py <<'PY'
import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

late = "import time\nget_ipython().kernel.post_handler_hook = lambda: time.sleep(8)"
five = new_output("stream", name="stdout", text="5\n")
cells = [
    new_code_cell(late, execution_count=1),
    new_code_cell("print(2 + 3)", execution_count=2, outputs=[five]),
]
nbformat.write(new_notebook(cells=cells), "late.ipynb")
PY
venv/bin/python make.py
run() { venv/bin/python -m pytest -q --nbval --nbval-current-env --nbval-cell-timeout=600 late.ipynb; }

if run > without.txt 2>&1; then
    echo "CHANGED: nbval waits for late outputs" && exit 1
fi
grep -q "Timeout of 5 seconds exceeded waiting for output" without.txt

cat > conftest.py <<'PY'
def pytest_collection_modifyitems(items):
    for item in items:
        item.output_timeout = 60
PY
run > with.txt 2>&1
grep -q "2 passed" with.txt
echo "as described: 5 s whatever the cell's limit; a conftest.py can raise them"
