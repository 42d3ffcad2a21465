"""Run the migrations inside the transaction that `schema` holds, so that they happen once or not at all."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
