# make train   install into .venv and train the default agent (about three minutes on two cores)
# make test    install into .venv and run the test suite
# make check   lint, format, types, layers, spelling
PYTHON ?= python3
VENV ?= .venv
ARGS ?=
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed

.PHONY: install train test check clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt $(wildcard plugins/*/pyproject.toml)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tsrflow needs Python 3.11 or newer; try make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]" $(addprefix -e ,$(patsubst %/pyproject.toml,./%,$(wildcard plugins/*/pyproject.toml)))
	touch $(STAMP)

train: $(STAMP)
	$(BIN)/tsrflow $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest $(ARGS)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

clean:
	rm -rf $(VENV) build dist *.egg-info
