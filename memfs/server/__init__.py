"""The self-hosted store server."""
