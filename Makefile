# make demo       install, fetch the default target's weights, serve the page on 127.0.0.1:7860
# make test       every test but those that take long or need a GPU; sets up all it needs, a browser included
# make check      lint, format, types and unit tests: the fast part
# make test-full  what takes longer as well
#
# Another Python or another build of torch: make demo PYTHON=python3.12 TORCH="torch==2.13.0 --index-url …" (README.md)

VENV ?= .venv
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
TORCH ?= torch==2.13.0
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
TEST_ENV := GRADIO_ANALYTICS_ENABLED=False HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1
TWO_AT_ONCE := -n 2 --dist loadfile
DEFAULT_PAIR := smollm2-135m
INSTALLED := $(VENV)/.installed
DEV_INSTALLED := $(VENV)/.dev-installed
BROWSER := $(VENV)/.browser-installed

.PHONY: demo test test-full check setup fetch clean
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

demo: $(INSTALLED)
	@$(PY) -m specviz fetch $(DEFAULT_PAIR) || echo "The page starts all the same: the pair \"toy\" needs no weights."
	$(PY) app.py

setup: $(DEV_INSTALLED) $(BROWSER)

fetch: $(INSTALLED)
	$(PY) -m specviz fetch $(DEFAULT_PAIR)

test: setup fetch
	$(TEST_ENV) $(PY) -m pytest $(TWO_AT_ONCE) -m "not full and not gpu"

test-full: setup fetch
	$(TEST_ENV) $(PY) -m pytest $(TWO_AT_ONCE) -m "not gpu"

check: $(DEV_INSTALLED)
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(TEST_ENV) $(PY) -m pytest $(TWO_AT_ONCE) -q -m "not full and not gpu" tests/unit specviz

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(PY):
	@test -n "$(PYTHON)" || { echo "SpecViz needs Python 3.11 or newer; install it, or say which with PYTHON=…" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): requirements.txt | $(PY)
	$(PIP) install $(TORCH)
	$(PIP) install -r requirements.txt
	@touch $@

$(DEV_INSTALLED): requirements-dev.txt $(INSTALLED)
	$(PIP) install -r requirements-dev.txt
	@touch $@

# Debian's chromium where apt may install it, otherwise Playwright's own
$(BROWSER): $(DEV_INSTALLED)
	@if [ -x /usr/bin/chromium ]; then \
		echo "The browser tests use /usr/bin/chromium."; \
	elif grep -qs '^ID=debian' /etc/os-release && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-dejavu-core; \
	elif grep -qs '^ID=debian' /etc/os-release && sudo -n true 2>/dev/null; then \
		sudo -n apt-get update -qq && sudo -n apt-get install -y -qq chromium fonts-dejavu-core; \
	else \
		$(PY) -m playwright install chromium; \
	fi
	@touch $@
