"""The reference page of the settings, made from the models themselves (docs/CONFIGURATION.md)."""

from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from memfs.config.settings import Settings, StoreTable

_HEAD = """\
# Configuration

Generated from the code by `make docs`; a test fails when it is not current.

Every command that takes settings reads the file that `-c FILE` names (`memfs.toml`); without it the defaults hold. A
flag wins over the environment, the environment over the file, the file over the default. An unknown or wrong key is
refused with file, line and key, exit code 3.

| variable | takes the place of |
|---|---|
| `MEMFS_BASE_URL`, then `ANTHROPIC_BASE_URL` | `remote.base_url` (the SDK's variable comes after the file) |
| `MEMFS_API_KEY`, then `ANTHROPIC_API_KEY` | the key itself; the SDK's is never sent to the default local server |
| `MEMFS_SESSION_TOKEN` | the token of the session that is attached, so that it stands in no argument |
| `MEMFS_DATABASE_URL` | `server.database`, so that its password stands in no file and no argument |
| `MEMFS_STATE` | `state.dir`, when neither a flag nor the file names one |

With no remote named, memfs talks to the local server at its default address and finds that server's key by itself.

```toml
[remote]
base_url = "https://memory.example"
api_key_file = "/etc/memfs/api-key"

[mount]
point = "/mnt/memory"

[[stores]]
store = "Team Notes"

[[stores]]
store = "Handbook"
access = "read_only"
instructions = "How we work here. Look before asking."
```
"""

_KINDS = {
    "str": "text",
    "Path": "path",
    "bool": "`true` or `false`",
    "int": "number",
    "float": "number",
    "list": "list of text",
}


def reference() -> str:
    """Return the page."""
    tables = [
        _table(f"[{name}]", field.annotation)
        for name, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    ]
    return "\n".join([_HEAD, *tables, _table("[[stores]]", StoreTable)])


def _table(title: str, model: type[BaseModel]) -> str:
    about = (model.__doc__ or "").partition(": ")[2]
    rows = [
        f"| `{name}` | {_kind(field)} | {_default(field)} | {field.description} |"
        for name, field in model.model_fields.items()
    ]
    head = ["| key | value | default | meaning |", "|---|---|---|---|"]
    return "\n".join([f"## `{title}`", "", about[:1].upper() + about[1:], "", *head, *rows, ""])


def _kind(field: FieldInfo) -> str:
    kind = field.annotation
    if get_origin(kind) in {UnionType, Union}:
        kind = next(one for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_args(kind) and get_origin(kind) is not list:
        return " or ".join(f"`{value}`" for value in get_args(kind) if isinstance(value, str))
    return _KINDS[getattr(get_origin(kind) or kind, "__name__", "str")]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value in ("", []):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    print(reference(), end="")  # noqa: T201  (`make docs` writes it into the page)
