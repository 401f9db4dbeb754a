"""Values of Python as JSON has them, and back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .schemas import INTEGERS, NESTED


def read(value: Any, schema: str) -> Any:
    """An answer with int for whole numbers of 64 bits. Fields that this client does not know stay as they are."""
    if isinstance(value, list):
        return [read(one, schema) for one in value]
    if not isinstance(value, dict):
        return value
    integers, nested = INTEGERS.get(schema, {}), NESTED.get(schema, {})
    return {
        name: _integer(one) if name in integers else read(one, nested[name]) if name in nested else one for name, one in value.items()
    }


def _integer(value: Any) -> Any:
    return [int(one) for one in value] if isinstance(value, list) else int(value)


def written(value: Any) -> Any:
    """A value as JSON has it; times with their zone."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value}: say in which time zone")
        return value.isoformat(timespec="seconds")
    if isinstance(value, dict):
        return {k: written(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [written(v) for v in value]
    return value


def parameter(value: Any) -> Any:
    """A value as a query has it: as in JSON, but for text, which has no quotes there."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return written(value)
