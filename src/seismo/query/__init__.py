"""SQL over the tables of recordings, with DuckDB: `seismo query`, and `Database` for programs.

    with Database([("app.seismo", seismo.open("app.seismo"))]) as database:
        for row in database.run("select qualname, calls from functions").rows(): ...

DuckDB is an optional dependency: pip install 'seismo[query]'.
"""

from seismo.query.database import Database, QueryError, Result
from seismo.query.sql_tables import TABLES, Source, described, given, in_sql

__all__ = ["TABLES", "Database", "QueryError", "Result", "Source", "described", "given", "in_sql"]
