# A fresh machine: `make demo`, `make test` (below 8 minutes on two cores), `make test-all` (everything, below 20).
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check
SOURCES = pyproject.toml setup.py constraints.txt $(wildcard src/vericap/native/*.c)
OUT ?= demo-output

.PHONY: demo test test-all coverage lint figures site clean wheel

$(VENV)/plain: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/full: $(VENV)/plain
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev,ja,train,hub,browser,serve,fuzz,docs]' --editable packages/vericap-gte-small
	touch $@

# What only the slow tests need: Ray, and the packages that adapters are compared with.
$(VENV)/all: $(VENV)/full
	$(PIP) install --quiet --constraint constraints.txt --editable '.[ray,adapters]'
	touch $@

# Scores bundled captions of three systems on bundled photos, prints the tables, writes the result files and a report.
demo: $(VENV)/plain
	$(BIN)/vericap demo --output $(OUT)

test: $(VENV)/full lint
	$(BIN)/python -m pytest -n 2 -m "not slow" --durations=15

# With browsers, Ray, killed runs, the site, the notebook and long trainings.
test-all: $(VENV)/all lint
	$(BIN)/python -m pytest -n 2 --durations=30

# Lines of src/ that the tests reach, those that run in processes of their own left out.
coverage: $(VENV)/all
	$(BIN)/python -m pytest -n 2 -q --cov --cov-report=json:build/coverage.json
	$(BIN)/python -m benchmarks.studies.coverage build/coverage.json --save

lint: $(VENV)/full
	$(BIN)/ruff check src tests tools benchmarks
	$(BIN)/ruff format --check src tests tools benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tables of the docs from the results that benchmarks wrote (benchmarks/results).
figures: $(VENV)/full
	$(BIN)/python tools/build_figures.py
	$(BIN)/python tools/refresh_pages.py

# The documentation as web pages and as plain Markdown, in site/; a dead link stops it.
site: $(VENV)/full
	$(BIN)/python tools/build_site.py

# The wheel of vericap and those of packages with models of their own; size and licences are checked.
wheel: $(VENV)/full
	rm -rf dist
	$(PIP) wheel --quiet --no-deps --wheel-dir dist . $(wildcard packages/*)
	$(BIN)/python tools/check_wheel.py dist/*.whl

clean:
	rm -rf $(VENV) build dist $(OUT) src/vericap.egg-info
