"""Store the columns of cases again, with what the pages of a run show of all cases."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.execute(sa.text("DELETE FROM case_columns"))  # written again at the end of the upgrade
