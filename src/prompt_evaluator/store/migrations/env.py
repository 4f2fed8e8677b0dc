"""What Alembic runs: the upgrade, on the connection that it was given."""

from alembic import context

from prompt_evaluator.store.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=True,  # SQLite can, when transactions are begun by us and not by its driver
    render_as_batch=True,  # SQLite cannot alter a column in place
)
with context.begin_transaction():
    context.run_migrations()
