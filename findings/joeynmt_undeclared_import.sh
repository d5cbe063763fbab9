#!/usr/bin/env bash
# JoeyNMT 2.3.0, on Python 3.11.
#
# It cannot be imported after `pip install joeynmt`: joeynmt/helpers.py imports importlib_metadata,
# which the package does not ask for. It worked as long as yapf, a formatter of code that it does ask
# for, brought that along: yapf 0.40.2 does, 0.43.0 does not, and neither does any other of the 98
# packages that pip would install. Whoever uses it adds importlib-metadata by hand.
#
# Seen: importlib-metadata among what yapf 0.40.2 needs and in nothing that joeynmt 2.3.0 with
# yapf 0.43.0 needs, and `import joeynmt.helpers` ends with ModuleNotFoundError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
pip() { venv/bin/pip "$@" -q --disable-pip-version-check; }
pip install --dry-run --report yapf.json yapf==0.40.2
pip install --dry-run --report joeynmt.json joeynmt==2.3.0 yapf==0.43.0
pip install --no-deps joeynmt==2.3.0
cat > needed.py <<'PY'
import json
import pathlib
import sys

report = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
names = {each["metadata"]["name"].lower().replace("_", "-") for each in report["install"]}
brings = "importlib-metadata" in names
print(f"{sys.argv[1]}: {len(names)} packages, importlib-metadata {'is' if brings else 'is not'} one")
assert brings == (sys.argv[2] == "yes"), "CHANGED"
PY
venv/bin/python needed.py yapf.json yes
venv/bin/python needed.py joeynmt.json no
if said=$(venv/bin/python -c "import joeynmt.helpers" 2>&1); then
    echo "CHANGED: joeynmt.helpers can be imported"
    exit 1
fi
case "$said" in
    *"No module named 'importlib_metadata'"*) echo "import joeynmt.helpers: ${said##*$'\n'}" ;;
    *) echo "CHANGED: $said"; exit 1 ;;
esac
echo "as described: joeynmt 2.3.0 does not ask for what it imports"
