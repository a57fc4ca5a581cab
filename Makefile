# One command set, used by hand, by the pre-commit hook and by CI.

.PHONY: check format lint types test bounds docs validation wheel

check: lint types test

format:
	ruff check --fix .
	ruff format .

lint:
	ruff check .
	ruff format --check .

types:
	mypy

test:
	python -m pytest -n 2 --dist worksteal

# Every index in every kernel is checked; parts that the engine calls by address can only say so, not raise.
bounds:
	mkdir -p build
	NUMBA_BOUNDSCHECK=1 NUMBA_FULL_TRACEBACKS=1 python -m pytest -s -p no:xdist > build/bounds.log 2>&1; \
	tail -n 1 build/bounds.log; ! grep -n "out of bounds" build/bounds.log

docs:
	python -m sphinx -W --keep-going -q -b html docs build/docs

# Tables and figures of docs/validation.md, from the public data in DATA. Takes eight minutes.
DATA = ../shared/data
validation:
	carom validate $(DATA)/cube_tosses.npz --tosses --out build/validation
	carom validate $(DATA)/ellipse_bounces.npz --out build/validation

# With compiled kernels, for processors of the kind x86-64-v3; others by KINDS=x86-64-v3,x86-64. Takes minutes.
wheel:
	python .ci/wheel.py --out dist $(if $(KINDS),--kinds $(KINDS))
