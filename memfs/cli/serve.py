"""``memfs serve``: the self-hosted store server, in the foreground."""

import typer

from memfs.cli import options


def serve(listen: options.Listen = None, data: options.Data = None, config: options.Config = None) -> None:
    """Serve memory stores over HTTP: the hosted API's own wire, on SQLite.

    The first start makes the data directory and its API key (DIR/api-key, for its owner only).
    """
    from memfs import config as settings_room
    from memfs import health, logs
    from memfs.server.serve import serve as serve_stores

    settings = settings_room.load(config)
    logs.set_up(settings.logging.level)
    host, port = settings_room.parse_listen(listen or settings.server.listen)
    directory = data or settings.server.data or settings_room.default_server_data()

    def say_ready(url: str) -> None:
        typer.echo(f"serving memory stores at {url} (API key in {directory / 'api-key'})")
        health.notify(ready=True, status=url)

    serve_stores(host, port, directory, on_ready=say_ready)
