"""Reading answers of the store server in tests."""

import httpx

INVALID = (400, "invalid_request_error")


def refusal(answer: httpx.Response) -> tuple[int, str]:
    body = answer.json()
    assert body["type"] == "error"
    assert body["request_id"] == answer.headers["request-id"]
    assert body["request_id"].startswith("req_01")
    assert body["error"]["message"]
    return answer.status_code, body["error"]["type"]
