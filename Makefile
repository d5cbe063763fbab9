# make lab        set up, then open JupyterLab on lesson 00 (ARGS="--ip=0.0.0.0" passes options)
# make test       set up, then every check: lint, types, unit tests, lessons
# make quick      set up, then lint, types and the fast tests: about a minute
# make lessons    execute every lesson and compare its outputs with the stored ones
# make notebooks  execute every lesson from top to bottom and store its outputs
#                 (LESSONS=notebooks/06_training.ipynb limits these two to one lesson)
# make lessons-count  count words, code, gaps and minutes of each lesson
# make gpu        run the tests that need a GPU; fail without one
# make live       serve the live page, docs/live/, at http://localhost:8000 (PAGE=FOLDER: one of your own; ARGS=8001: another port)
# make site       build the course's site into build/site (needs Node)
# make colab      write the repository's address, REPO=owner/name, into lessons and README
#                 (REVISION=v1.2: the tag or commit that lessons fetch on Colab; main by default)
# make help       print this list; for maintainers' commands: python -m experiments --help

PYTHON ?= python3
ARGS ?=
LESSONS ?= notebooks/*.ipynb

BIN := .venv/bin
STAMP := .venv/.installed
FIRST = $(firstword $(wildcard notebooks/00_*.ipynb))
# matplotlib's font cache belongs to this environment. The one in the home folder may come from
# another version, or be incomplete, and then lessons print warnings.
export MPLCONFIGDIR := $(CURDIR)/.venv/matplotlib
# Waiting threads sleep: otherwise two multi-threaded kernels spin against each other on two cores.
export OMP_WAIT_POLICY ?= PASSIVE

define CHECK
$(BIN)/ruff check .
$(BIN)/ruff format --check .
$(BIN)/python -m tests.notebook_lint
$(BIN)/mypy
endef
TESTS := $(BIN)/python -m pytest -n 2 --dist loadfile
# These limits only stop cells that hang: on a busy machine a lesson is slow, but must not fail.
NBVAL_LIMITS := --nbval-cell-timeout=3600 --nbval-kernel-startup-timeout=600
NBVAL = $(BIN)/python -m pytest --nbval --nbval-current-env $(NBVAL_LIMITS) -n 2 $(LESSONS)

# JupyterLab refuses to run as root without a flag. Without a display it prints its address instead.
LAB_ROOT = $(if $(filter 0,$(shell id -u)),--allow-root)
LAB_BROWSER = $(if $(filter Linux,$(shell uname -s)),$(if $(DISPLAY)$(WAYLAND_DISPLAY),,--no-browser))

PYTHON_FITS = $(shell $(PYTHON) -c 'import sys; print(sys.version_info >= (3, 11))' 2>/dev/null)
PYTHON_FOUND = $(or $(shell $(PYTHON) -c 'import platform; print("Python", platform.python_version())' 2>/dev/null),not found)

.PHONY: lab test quick lessons notebooks lessons-count gpu live site colab help
.NOTPARALLEL:

help:
	@sed -n 's/^# \(make .*\|  .*\)/\1/p' $(firstword $(MAKEFILE_LIST))

lab: $(STAMP)
	$(BIN)/jupyter lab $(LAB_ROOT) $(LAB_BROWSER) --LabApp.default_url=/lab/tree/$(FIRST) $(ARGS)

test: $(STAMP)
	$(CHECK)
	$(TESTS)
	$(NBVAL)
	@echo "All checks passed: lint, types, unit tests and lessons."

quick: $(STAMP)
	$(CHECK)
	$(TESTS) -m "not slow"
	@echo "Quick checks passed. Before a change lands: make test."

# Each process uses one thread, so that two of them share two cores, and so that sums are added in
# the same order when a lesson is stored and when it is checked.
test quick lessons notebooks: export OMP_NUM_THREADS := 1
test quick lessons notebooks: export COURSE_PROFILE := quick
# If this were set, each of the hundreds of processes would compile the packages again.
test quick lessons notebooks: export PYTHONDONTWRITEBYTECODE :=

# In lessons 00, 10, 11 and 18 to 20 a model trains for a minute or more. A check needs to see that it
# runs, not good translations: what these say is not compared.
test lessons: export COURSE_MAX_STEPS := 30

lessons: $(STAMP)
	$(NBVAL)

notebooks: $(STAMP)
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace $(LESSONS)
	$(BIN)/nbstripout --keep-output --keep-count --keep-id $(LESSONS)

lessons-count: $(STAMP)
	@$(BIN)/python -m experiments lessons

gpu: $(STAMP)
	@$(BIN)/python -c 'import sys, torch; torch.cuda.is_available() or sys.exit("PyTorch finds no GPU here: nothing was tested")'
	$(BIN)/python -m pytest -m gpu

# A server is needed because browsers let no page read files. The course's own page is laid out in
# build/live, with links, which make changed files visible at once, and its models in 8 bits.
live:
	@$(PYTHON) docs/serve_page.py $(if $(PAGE),--folder='$(PAGE)') $(ARGS)

# Needs Node. The KaTeX version must be the one that sphinxcontrib-katex renders the formulas with.
# Pyodide judges gaps in the reader's browser.
site: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[site]'
	npm install --silent --no-audit --no-fund --prefix .venv/node katex@0.16.22 pyodide@314.0.7
	$(BIN)/python docs/site/build.py

# Without REPO the current address (or none) is applied again. An empty REPO is an error.
colab: $(STAMP)
	@$(BIN)/python docs/colab/stamp.py $(if $(filter command,$(origin REPO)),--repo='$(REPO)') $(if $(REVISION),--revision='$(REVISION)')

# `venv --clear` would empty the target of a link, and fails on a file.
VENV_IN_THE_WAY = $(shell if test -L .venv; then echo a link; elif test -e .venv -a ! -d .venv; then echo a file; fi)

# The stamp is written last. If it is missing, an earlier setup was interrupted (or there was none),
# and the environment is created again.
# The pip that comes with Python 3.11 takes twice the processor's time of today's to find and unpack
# 200 packages. It would compile 15,000 modules, of which few are ever imported; Python compiles those
# as it first imports them.
$(STAMP): pyproject.toml constraints.txt
	$(if $(filter True,$(PYTHON_FITS)),,$(error The course needs Python 3.11 or later, and $(PYTHON) is $(PYTHON_FOUND): name another with PYTHON=/path/to/python3))
	$(if $(VENV_IN_THE_WAY),$(error .venv is $(VENV_IN_THE_WAY), and the environment is made anew in a folder of that name: remove it or give it another name))
	@test -f $@ || $(PYTHON) -m venv --clear .venv
	@rm -f $@
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --upgrade pip
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e ./attention_laws -e '.[course,test]' --no-compile
	@$(BIN)/python -c 'import matplotlib.font_manager'
	@touch $@
