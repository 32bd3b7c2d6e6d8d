"""Bytes to values and back: bodies, query parameters, answers. What is wrong with them is said without showing them.

Used by the endpoints. Reading a body runs on the event loop; the rest are functions of values.
"""

import json
from collections.abc import Mapping
from typing import TypeVar

from fastapi import Response
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from memfs.api import routes
from memfs.core.errors import InvalidRequest, RequestTooLarge

Model = TypeVar("Model", bound=BaseModel)
_SHOWN = 60
_FIELDS = 256
"""Of one object of a body, at most: far more than any request has a use for."""
_PLAIN = "identity"


async def read_body(request: Request, cap: int) -> bytes:
    """Return the whole body of a request.

    Raises:
        RequestTooLarge: It passes ``cap`` bytes.
        InvalidRequest: It is packed.
    """
    if request.headers.get("content-encoding", _PLAIN).lower() != _PLAIN:
        # Unpacked, a few kilobytes may be gigabytes.
        raise InvalidRequest("the body is packed (content-encoding)", remedy="Send it as it is")
    if int(request.headers.get("content-length", "0")) > cap:
        raise _too_large(cap)
    parts: list[bytes] = []
    length = 0
    async for part in request.stream():
        length += len(part)
        if length > cap:
            # The rest is dropped as it comes, by the connection: the client is still listening when the answer comes.
            raise _too_large(cap)
        parts.append(part)
    return b"".join(parts)


def body(model: type[Model], content: bytes) -> Model:
    """Read a JSON body.

    Raises:
        InvalidRequest: It is no JSON object of that kind; the message names the field, never its value.
    """
    is_plain = _is_plain(content)
    try:
        found = model.model_validate_json(content)
    except ValidationError as error:
        raise InvalidRequest(_first(error, "the body")) from None
    if not is_plain:
        raise InvalidRequest("the body: Invalid JSON")
    return found


def query(model: type[Model], parameters: Mapping[str, str]) -> Model:
    """Read query parameters; unknown ones are ignored.

    Raises:
        InvalidRequest: One has a wrong value.
    """
    try:
        return model.model_validate(dict(parameters))
    except ValidationError as error:
        raise InvalidRequest(_first(error, "the query")) from None


def answer(model: BaseModel) -> Response:
    """Return the model as the JSON of a success."""
    return Response(model.model_dump_json(), media_type="application/json")


def is_retry(request: Request) -> bool:
    """Tell whether the client says that an attempt before this one got no usable answer."""
    return request.headers.get(routes.RETRY_COUNT, "").strip("0").isdecimal()


def _is_plain(content: bytes) -> bool:
    """Tell whether the body is JSON at all; the model says what is wrong where it is not."""
    try:
        json.loads(content, object_pairs_hook=_check_fields)
    except (ValueError, RecursionError):
        return False
    return True


def _check_fields(pairs: list[tuple[str, object]]) -> None:
    # The model would note each field that it does not know: a hundred times the memory of the body.
    if len(pairs) > _FIELDS:
        raise InvalidRequest(f"the body has an object of {len(pairs)} fields; at most {_FIELDS} are allowed")
    # The model takes the last of two fields of one name; whoever checked the first one must not be passed by.
    if len(dict(pairs)) < len(pairs):
        raise InvalidRequest("the body names a field twice", remedy="Send each field once")


def _too_large(cap: int) -> RequestTooLarge:
    return RequestTooLarge(
        f"the request body is larger than {cap} bytes", remedy="Split the content into several memories"
    )


def _first(error: ValidationError, whole: str) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(ascii(str(part)[:_SHOWN])[1:-1] for part in found["loc"]) or whole
    return f"{where}: {found['msg'].removeprefix('Value error, ')}"
