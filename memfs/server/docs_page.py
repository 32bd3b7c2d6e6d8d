"""The endpoints as a page for people, made from the OpenAPI document.

Plain HTML of our own and no bundled user interface: those load their parts from elsewhere, and this server may have no
way out; and a page without scripts is a page that nobody can make run one.
"""

from html import escape
from typing import Any

_STYLE = """body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }
code, pre { font: 14px/1.4 monospace } h2 { margin: 2em 0 .5em; border-top: 1px solid #ccc; padding-top: 1em }
table { border-collapse: collapse } td, th { padding: .2em 1em .2em 0; text-align: left; vertical-align: top }"""
_CREDENTIAL = (
    "Each request carries its key as <code>Authorization: Bearer KEY</code> or as <code>x-api-key: KEY</code>,"
    " or in the same way the token of a session."
)
_LONGEST_NAME = 30
_LIMITS = ("const", "minimum", "maximum", "minLength", "maxLength", "maxItems", "default", "pattern")


def page(document: dict[str, Any]) -> str:
    """Return the page."""
    info = document["info"]
    schemas: dict[str, Any] = document["components"]["schemas"]
    parts = [f"<h1>{escape(info['title'])}</h1><p>{escape(info['description'])} Release {escape(info['version'])}.</p>"]
    parts.append(f'<p>For programs: <a href="openapi.json">openapi.json</a>. {_CREDENTIAL}</p>')
    for path, operations in document["paths"].items():
        parts += [_operation(method, path, operation, schemas) for method, operation in operations.items()]
    body = "\n".join(parts)
    title = escape(info["title"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    rows = [
        _row(parameter["name"], f"{parameter['in']}: {_kind(parameter['schema'])}")
        for parameter in operation["parameters"]
    ]
    if "requestBody" in operation:
        rows += _body(operation["requestBody"]["content"]["application/json"]["schema"], schemas)
    if operation.get("security") == []:
        rows.append(_row("key", "none needed"))
    rows += [
        _row(status, _answered(status, answer))
        for status, answer in operation["responses"].items()
        if status in {"200", "400", "403", "404", "409", "410", "503"}
    ]
    heading = f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>"
    return f"{heading}<p>{escape(operation['summary'])}</p><table>{''.join(rows)}</table>"


def _body(schema: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    """Return a row for each field of a body."""
    model = schemas[_kind(schema)]
    required = model.get("required", ())
    fields = [
        _row(name, f"body{', required' if name in required else ''}: {_kind(field)}")
        for name, field in model.get("properties", {}).items()
    ]
    return fields or [_row("body", "empty, or {}")]


def _answered(status: str, answer: dict[str, Any]) -> str:
    kind = _kind(next(iter(answer["content"].values()))["schema"])
    is_telling = status == "200" and len(kind) < _LONGEST_NAME
    return f"{answer['description']}: {kind}" if is_telling else str(answer["description"])


def _row(name: str, text: str) -> str:
    return f"<tr><th><code>{escape(name)}</code></th><td>{escape(text)}</td></tr>"


def _kind(schema: dict[str, Any]) -> str:
    """Say what a value may be, in one line."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    kinds = [kind for name in ("anyOf", "oneOf") for kind in schema.get(name, ())]
    if kinds:
        return " or ".join(dict.fromkeys(_kind(kind) for kind in kinds))
    said = [" or ".join(map(str, schema["enum"])) if "enum" in schema else str(schema.get("type", "text"))]
    if "items" in schema:
        said = [f"array of {_kind(schema['items'])}"]
    said += [f"{key} {schema[key]}" for key in _LIMITS if key in schema]
    return ", ".join(said)
