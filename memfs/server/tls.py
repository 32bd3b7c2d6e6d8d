"""The certificate that a server shows, read before it listens for anyone."""

import ssl
from pathlib import Path

from memfs.core.errors import ConfigError


def check(certificate: Path, key: Path) -> None:
    """Check that the two files are a certificate chain and its key, in PEM, as the server will load them.

    Raises:
        ConfigError: They are not, or cannot be read.
    """
    for file in (certificate, key):
        try:
            file.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"the file {file} cannot be read ({error.strerror})", remedy="Check --tls-cert and --tls-key"
            ) from None

    def refuse_to_ask() -> bytes:
        return b""  # a key with a passphrase: nobody sits at a server

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, refuse_to_ask)
    except (ssl.SSLError, ValueError) as error:
        why = getattr(error, "reason", None) or "no PEM"
        raise ConfigError(
            f"{certificate} and {key} are no certificate and its key ({why})",
            remedy="Give both in PEM, the key without a passphrase",
        ) from None
