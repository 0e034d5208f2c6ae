"""PostgreSQL: the server, the pool, transactions, migrations, background tasks and the outbox.

Nothing here knows a feature; features bring their own SQL in their `store.py`.
"""
