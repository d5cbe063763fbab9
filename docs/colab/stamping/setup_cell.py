# On Colab this fetches the course; elsewhere it puts the course first.
import importlib
import sys

# REPO is owner/name on GitHub; `make colab REPO=owner/name` writes both.
REPO = ""
REVISION = "main"  # a branch, tag or commit
KEEP_ON_DRIVE = False  # True: what you train stays on your Google Drive

if "google.colab" in sys.modules:
    import os
    import subprocess

    if not REPO:
        sys.exit("Set REPO above to the course's owner/name, and rerun.")
    course, address = "attention-course", f"https://github.com/{REPO}"
    fetch = "rm -rf $0 && git init -q $0 && cd $0 && git fetch -q --depth=1"
    fetch += ' "$1" "$2" && git checkout -q FETCH_HEAD && cd .. && mv $0 $3'
    shell = ["sh", "-c", fetch, "new-course", address, REVISION, course]
    if not os.path.isdir(course) and subprocess.call(shell):
        sys.exit(f"Could not fetch {REVISION} of {address}: check both.")
    sys.path.insert(0, os.path.abspath(course))
importlib.import_module("lessonkit.colab").set_up(KEEP_ON_DRIVE)
