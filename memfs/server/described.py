"""What an endpoint takes and answers, said beside its route, for the OpenAPI document.

The endpoints read bodies and queries themselves, since the order of the checks is part of the API; so it is declared
with the same models here. Values only.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

_KEY = "x-memfs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The models of one endpoint."""

    answer: type[BaseModel]
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None


def described(
    answer: type[BaseModel], *, body: type[BaseModel] | None = None, query: type[BaseModel] | None = None
) -> dict[str, Any]:
    """Return what a route takes as its ``openapi_extra``."""
    return {_KEY: Described(answer=answer, body=body, query=query)}


def description_of(extra: dict[str, Any] | None) -> Described | None:
    """Return what `described` put into a route's ``openapi_extra``; None for what is not of the API."""
    return (extra or {}).get(_KEY)
