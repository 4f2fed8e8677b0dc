"""Alembic's environment: runs the upgrade on the connection passed in."""

from alembic import context

from prompt_evaluator.store.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=True,  # works on SQLite because we begin transactions, not its driver
    render_as_batch=True,  # SQLite cannot alter a column in place
)
with context.begin_transaction():
    context.run_migrations()
