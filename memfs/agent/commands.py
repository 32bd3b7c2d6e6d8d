"""The six commands as values: parsed once from what a model sent, then trusted.

Used by `tool` and the SDK adapters. Whatever a model sends, `command_of` answers with a command or with a text that
says what is wrong: an unknown command, a missing, unknown or ill-typed parameter, a path outside `/memories`. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from memfs.agent.paths import MemoryPath, memory_path, shown
from memfs.agent.refusal import ToolFailure

_RANGE_LENGTH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Show a file or list a directory; ``view_range`` is the first and the last line, -1 for the end."""

    path: MemoryPath
    view_range: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Make a file."""

    path: MemoryPath
    file_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StrReplace:
    """Replace the one occurrence of ``old_str``; an empty ``new_str`` deletes it."""

    path: MemoryPath
    old_str: str
    new_str: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """Insert text after line ``insert_line``; 0 is the beginning."""

    path: MemoryPath
    insert_line: int
    insert_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Delete a file, or a directory with all it holds."""

    path: MemoryPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    """Rename or move a file or a directory; never onto something that exists."""

    old_path: MemoryPath
    new_path: MemoryPath


Command = View | Create | StrReplace | Insert | Delete | Rename

_REQUIRED = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
_OPTIONAL = {"view": ("view_range",), "str_replace": ("new_str",)}
_KINDS = {
    type(None): "null", bool: "a boolean", int: "an integer", float: "a number", str: "a string",
    list: "an array", dict: "an object",
}  # fmt: skip


def command_of(sent: object) -> Command:
    """Return the command that the tool's input stands for; an optional parameter may be null.

    Raises:
        ToolFailure: It is none; the text says what is wrong with it.
    """
    if not isinstance(sent, Mapping):
        raise ToolFailure(f"Error: The input of the memory tool must be an object, not {_kind(sent)}")
    name = sent.get("command")
    if not isinstance(name, str) or name not in _REQUIRED:
        raise ToolFailure(f"Error: {_unknown(name)}. The commands are: {', '.join(_REQUIRED)}")
    fields = {key: value for key, value in sent.items() if key != "command" and value is not None}
    _check_names(name, fields)
    return _built(name, fields)


def _built(name: str, fields: Mapping[str, object]) -> Command:
    match name:
        case "view":
            return View(path=_path(name, fields), view_range=_view_range(fields.get("view_range")))
        case "create":
            return Create(path=_path(name, fields), file_text=_text(name, fields, "file_text"))
        case "str_replace":
            return _str_replace(name, fields)
        case "insert":
            line, text = _integer(name, fields, "insert_line"), _text(name, fields, "insert_text")
            return Insert(path=_path(name, fields), insert_line=line, insert_text=text)
        case "delete":
            return Delete(path=_path(name, fields))
        case _:
            return Rename(old_path=_path(name, fields, "old_path"), new_path=_path(name, fields, "new_path"))


def _str_replace(name: str, fields: Mapping[str, object]) -> StrReplace:
    old = _text(name, fields, "old_str")
    if not old:
        raise ToolFailure("Error: The parameter `old_str` of `str_replace` must not be empty")
    new = _text(name, fields, "new_str") if "new_str" in fields else ""
    return StrReplace(path=_path(name, fields), old_str=old, new_str=new)


def _check_names(command: str, fields: Mapping[str, object]) -> None:
    required, optional = _REQUIRED[command], _OPTIONAL.get(command, ())
    for name in required:
        if name not in fields:
            raise ToolFailure(f"Error: The command `{command}` needs the parameter `{name}`")
    for name in fields:
        if name not in required and name not in optional:
            takes = ", ".join(f"`{known}`" for known in (*required, *optional))
            raise ToolFailure(f"Error: The command `{command}` has no parameter `{shown(str(name))}`. It takes {takes}")


def _path(command: str, fields: Mapping[str, object], name: str = "path") -> MemoryPath:
    value = fields[name]
    if not isinstance(value, str):
        raise _ill_typed(command, name, "a string", value)
    return memory_path(value)


def _text(command: str, fields: Mapping[str, object], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise _ill_typed(command, name, "a string", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ToolFailure(f"Error: The parameter `{name}` of `{command}` holds an unpaired surrogate") from None
    return value


def _integer(command: str, fields: Mapping[str, object], name: str) -> int:
    value = fields[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise _ill_typed(command, name, "an integer", value)
    return value


def _view_range(value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != _RANGE_LENGTH:
        raise _ill_ranged()
    first, last = value
    if type(first) is not int or type(last) is not int:
        raise _ill_ranged()
    return first, last


def _ill_ranged() -> ToolFailure:
    return ToolFailure("Error: Invalid `view_range` parameter. It should be two integers: [start_line, end_line]")


def _ill_typed(command: str, name: str, wanted: str, value: object) -> ToolFailure:
    return ToolFailure(f"Error: The parameter `{name}` of `{command}` must be {wanted}, not {_kind(value)}")


def _unknown(name: object) -> str:
    if name is None:
        return "The parameter `command` is missing"
    if not isinstance(name, str):
        return f"The parameter `command` must be a string, not {_kind(name)}"
    return f"Unknown command `{shown(name)}`"


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "something else")
