"""A loopback server that plays a scripted model: asks for tools turn by turn, then ends; it keeps all it was sent."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


class ScriptedModel:
    """Each turn of the script is a list of tool inputs; when none is left the model says that it is done."""

    def __init__(self) -> None:
        self.script: list[list[object]] = []
        self.requests: list[dict[str, Any]] = []
        self.base_url = ""

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        turn = len(self.requests)
        self.requests.append(request)
        done = turn >= len(self.script)
        return {
            "id": f"msg_{turn}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [{"type": "text", "text": "done"}] if done else self._calls(turn),
            "stop_reason": "end_turn" if done else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    @property
    def results(self) -> list[dict[str, Any]]:
        """The tool_result blocks that came back, in order: those of each request's last message."""
        # Whether the SDK sends the whole conversation again or only what is new, the last message is the answer.
        return [block for request in self.requests[1:] for block in request["messages"][-1]["content"]]

    def _calls(self, turn: int) -> list[dict[str, Any]]:
        return [
            {"type": "tool_use", "id": f"toolu_{turn}_{number}", "name": "memory", "input": sent}
            for number, sent in enumerate(self.script[turn])
        ]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    model = ScriptedModel()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps(model.reply(request)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        model.base_url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield model
        server.shutdown()
        thread.join()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root
