"""The endpoints: each reads its request, asks the store, and answers what it returned."""
