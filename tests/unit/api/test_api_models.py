"""The objects of the wire: moments as the API writes them, strict where a guess loses data, lenient where it grows."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import TypeAdapter, ValidationError

from memfs.api import routes
from memfs.api.models import Actor, ApiActor, MemoryItem, MemoryVersion, Page, Store, UnknownActor, timestamp
from memfs.api.requests import CreateMemory, UpdateMemory
from memfs.core.errors import InvalidRequest

STORE = {"id": "memstore_1", "name": "n", "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05.5Z"}
PREFIX = {"type": "memory_prefix", "path": "/a/"}


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000000Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=UTC), "2026-01-02T03:04:05.000060Z"),
        (datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05.000000Z"),  # noqa: DTZ001  (what a client may hand on)
        (datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))), "2026-01-02T01:00:00.000000Z"),
    ],
)
def test_a_moment_is_written_in_utc_with_six_digits(moment: datetime, expected: str) -> None:
    assert expected == timestamp(moment)


def test_a_store_is_read_and_written_as_the_api_says() -> None:
    written = json.loads(Store.model_validate(STORE).model_dump_json())

    assert written == STORE | {
        "type": "memory_store",
        "description": "",
        "metadata": {},
        "created_at": "2026-01-02T03:04:05.000000Z",
        "updated_at": "2026-01-02T03:04:05.500000Z",
        "archived_at": None,
    }


@pytest.mark.parametrize("content", ["{}", '{"next_page": null}', '{"data": null}', '{"data": {}}', "[]", "null"])
def test_a_page_without_data_is_no_page(content: str) -> None:
    """Taken for an empty last page it would say that every memory is gone."""
    with pytest.raises(ValidationError):
        Page[MemoryItem].model_validate_json(content)


def test_a_page_with_an_item_of_an_unknown_kind_is_no_page() -> None:
    with pytest.raises(ValidationError):
        Page[MemoryItem].model_validate({"data": [PREFIX, {"type": "memory_link", "path": "/a"}]})


def test_unknown_fields_of_an_answer_are_passed_over() -> None:
    page = Page[MemoryItem].model_validate({"data": [PREFIX | {"new": 1}], "next_page": "page_1", "has_more": True})

    assert (page.data[0].path, page.next_page) == ("/a/", "page_1")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"type": "api_actor", "api_key_id": "apikey_1"}, ApiActor(api_key_id="apikey_1")),
        ({"type": "robot_actor", "robot_id": "robot_1"}, UnknownActor(type="robot_actor")),
    ],
)
def test_a_history_can_be_read_whoever_wrote_it(sent: dict[str, str], expected: object) -> None:
    assert expected == TypeAdapter(Actor).validate_python(sent)


def test_a_redacted_version_has_no_path() -> None:
    version = MemoryVersion.model_validate(
        {
            "id": "memver_1", "memory_id": "mem_1", "memory_store_id": "memstore_1", "operation": "modified",
            "path": None, "created_at": "2026-01-02T03:04:05Z", "created_by": None,
            "redacted_at": "2026-01-03T03:04:05Z", "redacted_by": {"type": "user_actor", "user_id": "user_1"},
        }
    )  # fmt: skip

    assert (version.path, version.content) == (None, None)
    assert version.redacted_at == datetime(2026, 1, 3, 3, 4, 5, tzinfo=UTC)


def test_a_body_with_an_unknown_field_is_refused_without_showing_the_content() -> None:
    with pytest.raises(ValidationError) as refused:
        CreateMemory.model_validate_json('{"path": "/a", "content": "secret", "extra": "secret"}')

    assert "secret" not in str(refused.value)


def test_an_update_may_name_nothing() -> None:
    assert UpdateMemory.model_validate_json("{}") == UpdateMemory(content=None, path=None, precondition=None)


def test_an_id_cannot_name_another_route() -> None:
    path = routes.path(routes.MEMORY, store_id="a/b?c#d", memory_id="%2e é")

    assert path == "/v1/memory_stores/a%2Fb%3Fc%23d/memories/%252e%20%C3%A9"


@pytest.mark.parametrize("identifier", ["", ".", ".."])
def test_an_id_that_a_client_would_fold_away_is_refused(identifier: str) -> None:
    with pytest.raises(InvalidRequest):
        routes.path(routes.STORE, store_id=identifier)
