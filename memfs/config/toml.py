"""Reading a ``memfs.toml``: a wrong one is one message with file, line, key and the nearest right name."""

import difflib
import re
import tomllib
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from memfs.config.settings import Settings, StoreTable
from memfs.core.errors import ConfigError

_PLAIN = {
    "missing": "is required",
    "model_type": "must be a table",
    "list_type": "must be a list",
    "string_type": "must be text in quotes",
    "is_instance_of": "must be a path in quotes",
    "string_pattern_mismatch": "must be octal digits in quotes, like '022'",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
}
"""What a person is told where the library speaks of its models."""


def load(path: Path | None) -> Settings:
    """Read a ``memfs.toml``; None gives the defaults.

    Raises:
        ConfigError: The file cannot be read, is no TOML, or has an unknown or wrong key.
    """
    if path is None:
        return Settings()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise ConfigError(f"the configuration {path} cannot be read: {reason}", remedy="Name another by -c") from None
    try:
        return Settings.model_validate(tomllib.loads(text), context={"directory": path.absolute().parent})
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line, column = place.groups() if place else (str(text.count("\n") + 1), "1")
        cause = str(error).partition(" (at ")[0]
        key = _key_on_line(text, int(line))
        raise ConfigError(f"{path}:{line}:{column}: {f'key {key!r}: ' if key else ''}{cause}") from None
    except ValidationError as error:
        raise ConfigError(_first_trouble(path, text, error)) from None


def _first_trouble(path: Path, text: str, error: ValidationError) -> str:
    trouble = error.errors()[0]
    location = trouble["loc"]
    key = ".".join(str(part) for part in location if not isinstance(part, int))
    place = f"{path}:{_line_of(text, location)}: key {key!r}"
    if trouble["type"] != "extra_forbidden":
        return f"{place}: {_reason(trouble)}"
    near = difflib.get_close_matches(str(location[-1]), _keys_beside(location), n=1)
    return f"{place} is unknown" + (f"; did you mean {near[0]!r}?" if near else "")


def _reason(trouble: ErrorDetails) -> str:
    plain = _PLAIN.get(trouble["type"])
    said = trouble["msg"].removeprefix("Value error, ")
    return plain or said[0].lower() + said[1:]


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    table: type[BaseModel] = Settings
    for part in location[:-1]:
        if isinstance(part, str):
            told = table.model_fields[part].annotation
            table = StoreTable if part == "stores" else told if isinstance(told, type) else Settings
    return list(table.model_fields)


def _line_of(text: str, location: tuple[int | str, ...]) -> int:
    """Return the line of the key, or of the nearest table above it, counting from 1."""
    names = [part for part in location if isinstance(part, str)]
    entry = next((part for part in location if isinstance(part, int)), 0)
    table, seen, best = "", -1, 1
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?", line):
            table = header[1]
            seen += table == "stores"
            if table == names[0] and (table != "stores" or seen == entry):
                best = number
        elif assigned := re.match(r"\s*([\w.-]+)\s*=", line):
            whole = f"{table}.{assigned[1]}".lstrip(".")
            if whole == ".".join(names) and (table != "stores" or seen == entry):
                return number
    return best


def _key_on_line(text: str, number: int) -> str:
    lines = text.splitlines()
    assigned = re.match(r"\s*([\w.-]+)\s*=", lines[number - 1]) if number <= len(lines) else None
    return assigned[1] if assigned else ""
