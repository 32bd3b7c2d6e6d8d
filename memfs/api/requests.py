"""What a client asks for: the bodies of POST, with every rule that needs no look at the store.

An unknown field is refused: a misspelt ``precondition`` must not become an unconditional write. The rules of store
paths and the size of content are the core's (`memfs.core.paths`, `memfs.core.digest`). Values only.
"""

import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from memfs.core.errors import InvalidMetadata

METADATA_PAIRS = 16
METADATA_KEY = 64
METADATA_VALUE = 512


def _no_control_character(name: str) -> str:
    if any(unicodedata.category(character) == "Cc" for character in name):
        raise ValueError("a control character is not allowed")
    return name


def _no_nul(text: str) -> str:
    # Not every database can keep it in a text.
    if "\0" in text:
        raise ValueError("a NUL is not allowed")
    return text


def check_metadata(metadata: dict[str, str]) -> None:
    """Check a store's or a session's metadata as they would be stored.

    Raises:
        InvalidMetadata: Too many pairs, or a key or value is too long.
    """
    if len(metadata) > METADATA_PAIRS:
        raise InvalidMetadata(f"metadata has {len(metadata)} pairs; at most {METADATA_PAIRS} are allowed")
    for key, value in metadata.items():
        if not 1 <= len(key) <= METADATA_KEY:
            raise InvalidMetadata(f"a metadata key has {len(key)} characters; 1 to {METADATA_KEY} are allowed")
        if len(value) > METADATA_VALUE:
            raise InvalidMetadata(f"a metadata value has {len(value)} characters; at most {METADATA_VALUE} are allowed")


Name = Annotated[str, StringConstraints(min_length=1, max_length=255), AfterValidator(_no_control_character)]
Description = Annotated[str, StringConstraints(max_length=1_024), AfterValidator(_no_nul)]
Title = Annotated[str, StringConstraints(max_length=255), AfterValidator(_no_control_character)]
Instructions = Annotated[str, StringConstraints(max_length=4_096), AfterValidator(_no_nul)]
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class Body(BaseModel):
    """Base of the bodies. Errors never show the input: it may be a memory's content."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class Nothing(Body):
    """What has nothing to say: a redaction may come with ``{}`` in place of an empty body."""


class CreateStore(Body):
    """POST /v1/memory_stores."""

    name: Name
    description: Description = ""
    metadata: dict[str, str] = Field(default_factory=dict)


class UpdateStore(Body):
    """POST /v1/memory_stores/{id}: None leaves a field as it is.

    ``metadata`` is a patch: a string sets, a null removes, keys not named stay.
    """

    name: Name | None = None
    description: Description | None = None
    metadata: dict[str, str | None] | None = None


class CreateMemory(Body):
    """POST …/memories."""

    path: str
    content: str


class Precondition(Body):
    """Only if the memory's current content has this digest."""

    type: Literal["content_sha256"]
    content_sha256: Sha256


class UpdateMemory(Body):
    """POST …/memories/{id}: None leaves a field as it is; one of ``content`` and ``path`` must be given."""

    content: str | None = None
    path: str | None = None
    precondition: Precondition | None = None
