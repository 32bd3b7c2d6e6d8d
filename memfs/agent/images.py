"""Images in a directory of memories: shown to the model as image blocks.

Used by `tool`. The name says that a file may be an image, its first bytes say that it is one; anything else is text.
Stores hold text only: an image can stand in a plain directory or under a local-only name. Pure.
"""

import base64

from memfs.agent.paths import MemoryPath
from memfs.agent.refusal import ToolFailure

IMAGE_BYTES = 3_750_000
"""The most an image may have: the API takes 5 MB of base64."""

_SUFFIXES = (b".png", b".jpg", b".jpeg")
_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


def image_block(path: MemoryPath, content: bytes) -> dict[str, object] | None:
    """Return the content block that shows the file, None where it is no image.

    Raises:
        ToolFailure: It is an image, and too large to be sent.
    """
    if not path.names or not path.names[-1].lower().endswith(_SUFFIXES):
        return None
    media_type = next((kind for signature, kind in _SIGNATURES.items() if content.startswith(signature)), None)
    if media_type is None:
        return None
    if len(content) > IMAGE_BYTES:
        raise ToolFailure(f"Error: {path} cannot be viewed: the image is larger than 3.75 MB")
    encoded = base64.b64encode(content).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": encoded}}
