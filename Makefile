# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check
SOURCES = pyproject.toml setup.py constraints.txt $(wildcard src/vericap/native/*.c)
OUT ?= demo-output

.PHONY: demo test lint site clean wheel

$(VENV)/plain: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/full: $(VENV)/plain
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev,ja,train,hub,browser,serve,fuzz,docs]'
	touch $@

# Scores bundled captions of three systems on bundled photos, prints the tables, writes the result files and a report.
demo: $(VENV)/plain
	$(BIN)/vericap demo --output $(OUT)

test: $(VENV)/full lint
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/full
	$(BIN)/ruff check src tests tools benchmarks
	$(BIN)/ruff format --check src tests tools benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

# The documentation as web pages and as plain Markdown, in site/; a dead link stops it.
site: $(VENV)/full
	$(BIN)/python tools/build_site.py

wheel: $(VENV)/full
	$(PIP) wheel --quiet --no-deps --wheel-dir dist .
	ls -l dist

clean:
	rm -rf $(VENV) build dist $(OUT) src/vericap.egg-info
