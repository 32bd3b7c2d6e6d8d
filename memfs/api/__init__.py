"""The wire contract, for both ends: models, routes, and the error envelope."""
