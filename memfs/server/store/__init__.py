"""The store of stores: one implementation on SQLAlchemy Core, SQLite today."""
