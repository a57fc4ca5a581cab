# One command set, used by hand, by the pre-commit hook and by CI.

.PHONY: check format lint types test docs wheel

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
	python -m pytest -n 2

docs:
	python -m sphinx -W --keep-going -q -b html docs build/docs

wheel:
	python -m pip wheel -q --no-deps -w dist .
