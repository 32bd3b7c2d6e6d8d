"""The endpoints as a page for people, made from the OpenAPI document.

Plain HTML of our own and no bundled user interface: those load their parts from elsewhere, and this server may have no
way out; and a page without scripts is a page that nobody can make run one.
"""

from html import escape
from typing import Any

_STYLE = """body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }
code, pre { font: 14px/1.4 monospace } h2 { margin: 2em 0 .5em; border-top: 1px solid #ccc; padding-top: 1em }
table { border-collapse: collapse } td, th { padding: .2em 1em .2em 0; text-align: left; vertical-align: top }"""


def page(document: dict[str, Any]) -> str:
    """Return the page."""
    info = document["info"]
    parts = [f"<h1>{escape(info['title'])}</h1><p>{escape(info['description'])} Release {escape(info['version'])}.</p>"]
    parts.append('<p>For programs: <a href="openapi.json">openapi.json</a>.</p>')
    for path, operations in document["paths"].items():
        parts += [_operation(method, path, operation) for method, operation in operations.items()]
    body = "\n".join(parts)
    title = escape(info["title"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = [
        _row(parameter["name"], f"{parameter['in']}: {_kind(parameter['schema'])}")
        for parameter in operation["parameters"]
    ]
    if "requestBody" in operation:
        rows.append(_row("body", _kind(operation["requestBody"]["content"]["application/json"]["schema"])))
    rows += [
        _row(status, answer["description"])
        for status, answer in operation["responses"].items()
        if status in {"200", "400", "403", "404", "409", "410"}
    ]
    heading = f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>"
    return f"{heading}<p>{escape(operation['summary'])}</p><table>{''.join(rows)}</table>"


def _row(name: str, text: str) -> str:
    return f"<tr><th><code>{escape(name)}</code></th><td>{escape(text)}</td></tr>"


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    said = [str(schema.get("type", schema.get("enum", "text")))]
    said += [f"{key} {schema[key]}" for key in ("minimum", "maximum", "default", "pattern") if key in schema]
    return ", ".join(said)
