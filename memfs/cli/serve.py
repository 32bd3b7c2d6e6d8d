"""``memfs serve``: the self-hosted store server, in the foreground."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options

if TYPE_CHECKING:
    from memfs.config import Settings
    from memfs.server.options import ServerOptions

Migrate = Annotated[bool, typer.Option("--migrate", help="Bring an older release's database to this layout first.")]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, max=64, help="Server processes, on PostgreSQL. (default: 1)"),
]
TlsCert = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", readable=False, help="Certificate chain, PEM: serve HTTPS.")
]
TlsKey = Annotated[
    Path | None, typer.Option("--tls-key", metavar="FILE", readable=False, help="The certificate's key, PEM.")
]
AccessLog = Annotated[
    bool | None, typer.Option("--access-log/--no-access-log", help="One line for each request. (default: yes)")
]


def serve(
    listen: options.Listen = None,
    data: options.Data = None,
    database: options.Database = None,
    migrate: Migrate = False,
    workers: Workers = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    access_log: AccessLog = None,
    config: options.Config = None,
) -> None:
    """Serve memory stores over HTTP: the hosted API's own wire, on SQLite or PostgreSQL.

    The first start makes the data directory and its API key (DIR/api-key, for its owner only).
    """
    from memfs import config as settings_room
    from memfs import health, logs
    from memfs.server.descriptors import raise_limit

    settings = settings_room.load(config)
    logs.set_up(settings.logging.level)
    host, port = settings_room.parse_listen(listen or settings.server.listen)
    directory = data or settings.server.data or settings_room.default_server_data()
    chosen = _options(settings, tls_cert or settings.server.tls_cert, tls_key or settings.server.tls_key)
    chosen = replace(
        chosen,
        database=settings_room.server_database(database, settings),
        access_log=chosen.access_log if access_log is None else access_log,
    )
    if migrate:
        _migrate(directory, chosen.database)

    def say_ready(url: str) -> None:
        typer.echo(f"serving memory stores at {url} (API key in {directory / 'api-key'})")
        health.notify(ready=True, status=url)

    raise_limit()
    processes = workers or settings.server.workers
    if processes > 1:
        from memfs.server.workers import serve_with_workers

        serve_with_workers(host, port, directory, workers=processes, options=chosen, on_ready=say_ready)
    else:
        from memfs.server.serve import serve as serve_stores

        serve_stores(host, port, directory, options=chosen, on_ready=say_ready)


def _options(settings: "Settings", certificate: Path | None, key: Path | None) -> "ServerOptions":
    from memfs.core.errors import ConfigError
    from memfs.core.limits import Limits
    from memfs.server.options import ServerOptions
    from memfs.server.store.retention import Retention

    if (certificate is None) != (key is None):
        raise ConfigError("TLS needs a certificate and its key", remedy="Give both --tls-cert FILE and --tls-key FILE")
    server = settings.server
    return ServerOptions(
        limits=Limits(memories=server.memories, memory_bytes=server.memory_bytes),
        body_bytes=server.body_bytes,
        strict_beta=server.strict_beta,
        settle_retries=server.settle_retries,
        requests_per_minute=server.requests_per_minute,
        access_log=server.access_log,
        tls=None if certificate is None or key is None else (certificate, key),
        prune_every_s=server.prune_every_s,
        retention=Retention(days=server.retention_days, keep_newest=server.keep_newest),
    )


def _migrate(directory: Path, url: str | None) -> None:
    from memfs.server.prepared import make_directory
    from memfs.server.store.opening import FILE, migrate

    make_directory(directory)
    before = migrate(url or directory / FILE)
    typer.echo("the database has this release's layout" if before is None else f"brought the database up from {before}")
