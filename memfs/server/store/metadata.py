"""Metadata as one text of the database: strings by strings. Values only."""

import json


def packed(metadata: dict[str, str]) -> str:
    """Return metadata as they are stored: equal ones as equal texts."""
    return json.dumps(metadata, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def unpacked(text: str) -> dict[str, str]:
    """Return the metadata that a row holds."""
    metadata: dict[str, str] = json.loads(text)
    return metadata


def patched(metadata: dict[str, str], patch: dict[str, str | None]) -> dict[str, str]:
    """Return metadata with a patch applied: a string sets, None removes, keys that are not named stay."""
    merged = metadata | patch
    return {key: value for key, value in merged.items() if value is not None}
