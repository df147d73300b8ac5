# Every target sets up what it needs, in .venv, the first time it is called.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS ?= constraints.txt
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint $(CONSTRAINTS)

.PHONY: demo test test-all test-braindecode lint fuzz bench docs pictures readme clean

demo: $(VENV)/.core  ## find augmentation for simulated motor imagery
	@$(BIN)/cadda demo --out demo

test: lint  ## lint, types, import contracts and tests
	@$(BIN)/python -m pytest -n auto

test-all: lint $(VENV)/.docs  ## the same with the slow tests, and the site in a browser
	@$(BIN)/python -m pytest -n auto -m ""

test-braindecode: $(VENV)-braindecode/.newer  ## integrations with braindecode 1.x and MOABB, in an environment of its own
	@$(VENV)-braindecode/bin/python -m pytest tests/integrations

lint: $(VENV)/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

fuzz: $(VENV)/.test  ## ten thousand damaged files of every format
	@$(BIN)/python -W ignore tests/hostile/fuzz_harness.py $(or $(FILES),10000)

bench: $(VENV)/.test  ## ratios of speed, wanted beside got; `python -m benchmarks` lists all benchmarks
	@$(BIN)/python -W ignore -m benchmarks summary

docs: $(VENV)/.docs  ## the documentation as HTML in docs/_build
	@$(BIN)/sphinx-build -n -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

pictures: $(VENV)/.core  ## the pictures in docs/images
	@$(BIN)/python docs/pictures.py
	@$(BIN)/python docs/classwise_pictures.py

readme: $(VENV)/.core  ## results in README.md and docs/results.md from the files of the benchmarks, docs/settings.md
	@$(BIN)/python docs/results_table.py
	@$(BIN)/python docs/settings_table.py
	@$(BIN)/python docs/equivariance_picture.py
	@$(BIN)/python docs/panel_picture.py
	@$(BIN)/python docs/one_step_picture.py
	@$(BIN)/python docs/scaling_picture.py

clean:
	rm -rf $(VENV) $(VENV)-braindecode demo docs/_build docs/api docs/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.core: pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cadda needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0] + "; try: make PYTHON=python3.11 ...")'
	@echo "Setting up $(VENV) (once, about two minutes)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip
	@$(PIP) --editable .
	@touch $@

$(VENV)/.test $(VENV)/.docs: $(VENV)/.%: $(VENV)/.core
	@echo "Installing what \`make $*\` needs (once, about a minute)"
	@$(PIP) --group $*
	@touch $@

# braindecode 1.x imports torchaudio, whose compiled part needs CUDA and can be left out. Beside MOABB,
# braindecode 0.8.1 cannot be imported, so that the other environment is without it.
$(VENV)-braindecode/.newer: constraints.txt pyproject.toml
	@$(MAKE) --no-print-directory VENV=$(VENV)-braindecode $(VENV)-braindecode/.test
	@grep -v '^braindecode==' constraints.txt > $(@D)/constraints.txt
	@$(@D)/bin/python -m pip install --quiet --quiet --no-deps torchaudio==2.11.0
	@rm -f $(@D)/lib/python*/site-packages/torchaudio/lib/*.so
	@$(@D)/bin/python -m pip install --quiet --quiet --constraint $(@D)/constraints.txt braindecode==1.8.1 moabb
	@touch $@
