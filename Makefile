# Every target makes what it needs: a virtual environment in .venv and the pinned packages in it.

.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON := .venv/bin/python
PIP := -m pip install --quiet --disable-pip-version-check
# Compiling all modules, most of which no test imports, takes as long as the rest of an installation
PIP_WITHOUT_COMPILING := $(PIP) --no-compile
# The processes of a test run would compile the same modules each, where Python is told to keep nothing
TEST := env -u PYTHONDONTWRITEBYTECODE $(PYTHON)

.PHONY: help run test quick fuzz lint audit sbom bench soak docs spec vendor screenshots wheel image deploy deploy-local

STAGE ?= dev
MINUTES ?= 5
SEED ?= 1
ARCHITECTURE ?= arm64
IMAGE ?= postfinch/postfinch

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# exec: the signal that make passes on reaches the supervisor itself, not a shell.
run: .venv/.local-stamp ## Run everything on this machine until Ctrl-C (API_PORT, SMTP_PORT, API_KEY, DATA_DIR)
	@exec $(PYTHON) -m infrastructure.local.run --stop-with-parent

# tests/conftest.py divides the files among the processes, and says in which order.
test: .venv/.dev-stamp ## Run all tests
	@exec $(TEST) -m pytest -n 4 --no-loadscope-reorder

quick: .venv/.dev-stamp ## Run the unit tests but those of files that take long
	@exec $(TEST) -m pytest -n 4 --no-loadscope-reorder -m "not slow" tests/unit

fuzz: .venv/.dev-stamp ## Give hostile bytes to every parser for MINUTES (5)
	@exec $(PYTHON) -m tests.fuzz --minutes $(MINUTES)

lint: .venv/.dev-stamp node_modules/.stamp ## Check style and types of Python and of the console, and the template
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	.venv/bin/cfn-lint infrastructure/template.yaml
	node_modules/.bin/prettier --check --log-level warn console
	node_modules/.bin/eslint --max-warnings 0 console
	node_modules/.bin/tsc

audit: .venv/.audit-stamp ## Check for vulnerable packages and for secrets
	@exec .venv/audit/bin/python -m infrastructure.audit

sbom: .venv/.audit-stamp ## Write the bills of materials (CycloneDX) of package and images to build/sbom
	@exec .venv/audit/bin/python -m infrastructure.bill_of_materials build/sbom

bench: .venv/.dev-stamp ## Measure throughput, requests per message and dollars per million
	@exec $(PYTHON) -m tests.bench

soak: .venv/.dev-stamp ## Kill processes under load for MINUTES (5), then count all mail (SEED)
	@exec $(TEST) -m tests.soak --minutes $(MINUTES) --seed $(SEED)

docs: .venv/.local-stamp ## Write the parts of the documentation that are generated
	@exec $(PYTHON) -m infrastructure.docs

spec: .venv/.dev-stamp ## List the statements of the specification that no test cites
	@exec $(PYTHON) -m tests.spec_coverage

vendor: .venv/.local-stamp ## Build console/vendor again from npm packages (needs npm)
	@exec $(PYTHON) -m infrastructure.console_vendor

screenshots: .venv/.dev-stamp ## Take pictures of every page and dialog of the console into build/screenshots (needs Chromium)
	@exec $(PYTHON) -m tests.browser.screenshots build/screenshots

wheel: .venv/bin/python ## Build the package that people install into build/dist
	@rm -rf build/dist
	@exec $(PYTHON) $(PIP:install=wheel) --no-deps --wheel-dir build/dist .

# Podman and Buildah keep the health check in Docker's format only
image: ## Build the image of the whole service as IMAGE, with docker, podman or buildah
	@if docker info >/dev/null 2>&1; then exec docker build -t $(IMAGE) $(OPTIONS) .; fi; \
	for builder in podman buildah; do \
	  if command -v $$builder >/dev/null; then \
	    exec $$builder build --format docker -t $(IMAGE) $(OPTIONS) .; \
	  fi; \
	done; \
	echo "Building the image needs docker (and its daemon), podman or buildah" >&2; exit 1

deploy: .venv/.local-stamp ## Deploy to AWS as STAGE (dev), for ARCHITECTURE (arm64); see docs/deploying.md
	@exec $(PYTHON) -m infrastructure.deploy --stage $(STAGE) --architecture $(ARCHITECTURE)

deploy-local: .venv/.local-stamp ## The same to the cloud that `make run` started, or to a LocalStack at URL
	@exec $(PYTHON) -m infrastructure.deploy_local --stage $(STAGE) $(if $(URL),--url $(URL))

# The first Python of at least 3.11. python3 comes first: it is what the user's machine calls Python.
.venv/bin/python:
	@for candidate in python3 python3.13 python3.12 python3.11; do \
	  if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "Making .venv with $$($$candidate --version)"; \
	    $$candidate -m venv .venv && exit 0; \
	    rm -rf .venv; \
	    echo "$$candidate cannot make a virtual environment: install its venv package" >&2; \
	    exit 1; \
	  fi; \
	done; \
	echo "Postfinch needs Python 3.11 or later, and neither python3 nor python3.11 is" >&2; exit 1

# The command is a script, as an installed package would be a copy of this checkout
.venv/.local-stamp: requirements.txt requirements-local.txt relay/requirements.txt | .venv/bin/python
	@echo "Installing what running needs (once)"
	@$(PYTHON) $(PIP) -r requirements-local.txt
	@printf '%s\n' '#!/bin/sh' \
	  'PYTHONPATH="$(CURDIR)" exec "$(CURDIR)/$(PYTHON)" -P -m postfinch "$$@"' >.venv/bin/postfinch
	@chmod +x .venv/bin/postfinch
	@touch $@

.venv/.dev-stamp: requirements-dev.txt .venv/.local-stamp
	@echo "Installing what tests need (once)"
	@$(PYTHON) $(PIP_WITHOUT_COMPILING) -r requirements-dev.txt
	@touch $@

# No script of a package runs, as for console/vendor
node_modules/.stamp: package.json package-lock.json
	@command -v npm >/dev/null || { echo "\`make lint\` checks the console with npm and Node.js 18.18 or later: install nodejs and npm" >&2; exit 1; }
	@echo "Installing what checks the console (once)"
	@npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# An environment of its own: the tools' dependencies are no part of what they look at
.venv/.audit-stamp: requirements-audit.txt | .venv/bin/python
	@echo "Installing what audits need (once)"
	@$(PYTHON) -m venv .venv/audit
	@.venv/audit/bin/python $(PIP_WITHOUT_COMPILING) -r requirements-audit.txt
	@touch $@
