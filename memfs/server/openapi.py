"""The OpenAPI document: every endpoint of the API, made from its route and the models that it reads and answers.

Made once per server. The models are said once, for the wire; here they only get their names.
"""

from collections.abc import Iterable
from typing import Any

from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.routing import BaseRoute

import memfs
from memfs.api.routes import CHANGES, READY
from memfs.server.described import Described, description_of

_REFERENCE = "#/components/schemas/{model}"
_ERRORS = {
    400: "The request breaks a rule of the API, or the store is archived",
    401: "The credential is missing or unknown",
    403: "The credential may not do this",
    404: "There is no such store, memory, version or session for this credential",
    405: "The endpoint does not answer this method",
    409: "What is stored does not allow the change; x-should-retry tells whether repeating can help",
    410: "The cursor of the change feed is older than what is kept: list the store again",
    413: "The body is larger than the server reads",
    429: "More requests than the server grants this credential; retry-after says when to go on",
    500: "The server failed; its log has the request's id",
    503: "Requests cannot be served now: the database does not answer, or the server is stopping",
    529: "The database cannot be used now",
}
_OPEN = frozenset({400, 405, 500})
"""Refusals of what is not of the API."""
_ENVELOPE: dict[str, Any] = {
    "type": "object",
    "required": ["type", "error", "request_id"],
    "properties": {
        "type": {"const": "error"},
        "error": {
            "type": "object",
            "required": ["type", "message"],
            "properties": {
                "type": {"type": "string"},
                "message": {"type": "string"},
                "details": {"type": "object"},
                "conflicting_path": {"type": "string"},
                "conflicting_memory_id": {"type": "string"},
            },
        },
        "request_id": {"type": "string", "pattern": "^req_"},
    },
}


def document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of some routes: those of the API, and what needs no key."""
    schemas: dict[str, Any] = {"Error": _ENVELOPE}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if not isinstance(route, APIRoute):
            continue
        found = description_of(route.openapi_extra)
        for method in route.methods or ():
            operation = _open(route) if found is None else _operation(route, method, found, schemas)
            paths.setdefault(route.path, {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Memory Stores API",
            "version": memfs.__version__,
            "description": "The hosted Memory Stores API as `memfs serve` speaks it, with a change feed.",
        },
        "security": [{"bearer": []}, {"apiKey": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    }


def _operation(route: APIRoute, method: str, found: Described, schemas: dict[str, Any]) -> dict[str, Any]:
    kind = route.path.removeprefix("/v1/").split("/")
    operation: dict[str, Any] = {
        "operationId": f"{method.lower()}_{'_'.join(part.strip('{}') for part in kind)}",
        "summary": _summary(route),
        "tags": [next((part for part in reversed(kind) if part in _TAGS), kind[0])],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in (part[1:-1] for part in kind if part.startswith("{"))
        ],
        "responses": {"200": _answer("Done", _named(found.answer, schemas, "serialization"))}
        | _refusals(_refused(route)),
    }
    if found.query is not None:
        operation["parameters"] += _parameters(found.query, schemas)
    if found.body is not None:
        content = {"application/json": {"schema": _named(found.body, schemas, "validation")}}
        operation["requestBody"] = {"required": bool(found.body.model_fields), "content": content}
    return operation


def _open(route: APIRoute) -> dict[str, Any]:
    """Return what is not of the API: it takes nothing, needs no key, and answers a page or a state."""
    media = getattr(route.response_class, "media_type", None) or "application/json"
    schema = {"type": "object" if media == "application/json" else "string"}
    return {
        "operationId": f"get_{route.name}",
        "summary": _summary(route),
        "tags": ["operation"],
        "security": [],
        "parameters": [],
        "responses": {"200": _answer("Done", schema, media)}
        | _refusals(_OPEN | ({503} if route.path == READY else set())),
    }


def _summary(route: APIRoute) -> str:
    return (route.description or route.name).splitlines()[0]


def _refused(route: APIRoute) -> frozenset[int]:
    """Return the statuses with which an endpoint of the API may refuse."""
    return frozenset(_ERRORS) - {503} - (frozenset() if route.path == CHANGES else {410})


def _refusals(statuses: frozenset[int]) -> dict[str, Any]:
    error = {"$ref": "#/components/schemas/Error"}
    return {str(status): _answer(text, error) for status, text in _ERRORS.items() if status in statuses}


_TAGS = frozenset({"memory_stores", "memories", "memory_versions", "changes", "sessions"})


def _parameters(query: type[BaseModel], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    schema = query.model_json_schema(by_alias=True, ref_template=_REFERENCE)
    schemas.update(schema.pop("$defs", {}))
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(one)}
        for name, one in schema["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter's schema: one that is left out is left out, there is no null in a query."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    found = {key: value for key, value in schema.items() if key not in {"anyOf", "title"}}
    if found.get("default", ...) is None:
        del found["default"]
    return (kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}) | found


def _named(model: type[BaseModel], schemas: dict[str, Any], mode: Any) -> dict[str, Any]:  # noqa: ANN401  (pydantic's own two literals)
    name = model.__name__.replace("[", "Of").replace("]", "").replace(", ", "Or")
    name = "".join(character for character in name if character.isalnum())
    if name not in schemas:
        schema = model.model_json_schema(mode=mode, ref_template=_REFERENCE)
        schemas.update(schema.pop("$defs", {}))
        schemas[name] = schema
    return {"$ref": _REFERENCE.format(model=name)}


def _answer(text: str, schema: dict[str, Any], media: str = "application/json") -> dict[str, Any]:
    headers = {"request-id": {"schema": {"type": "string"}}, "memfs-changes": {"schema": {"type": "string"}}}
    return {"description": text, "headers": headers, "content": {media: {"schema": schema}}}
