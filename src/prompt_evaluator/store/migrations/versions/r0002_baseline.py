"""The tables of the first version, as the schema declares them."""

from alembic import op

from prompt_evaluator.store.schema import METADATA

revision = "0002"
down_revision = None


def upgrade() -> None:
    METADATA.create_all(op.get_bind(), checkfirst=False)
