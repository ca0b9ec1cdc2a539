"""What is in a PostgreSQL database: its tables and views, what depends on them, and one hash over all of it."""

import json
import shlex
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten

Query = Callable[[str], str]  # SQL in, what psql prints out


class Relation(NamedTuple):
    """A table (kind "r", "p" or "f"), view ("v"), materialized view ("m") or sequence ("S")."""

    schema: str
    name: str
    kind: str

    @property
    def quoted(self) -> str:
        return f"{_quote(self.schema)}.{_quote(self.name)}"


def _quote(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _literal(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


# Everything is read as of one instant, and written in one way whatever the server's settings are.
BEGIN = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL standard_conforming_strings = on; SET LOCAL search_path = ''; SET LOCAL client_encoding = 'UTF8';
SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres'; SET LOCAL timezone = 'UTC';
SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'; SET LOCAL row_security = off
"""
_RELATIONS = """
SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(n.nspname, c.relname, c.relkind)), '[]')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm', 'S') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
    WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e')
"""
_OWNED = """
SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(n.nspname, c.relname, c.relkind)), '[]')
FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.objid AND c.relkind = 'S'
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refclassid = d.classid
  AND d.refobjid = ANY({oids}) AND d.deptype IN ('a', 'i')
"""
_DEPENDING = """
SELECT coalesce(pg_catalog.json_agg(x.row), '[]') FROM (
  SELECT pg_catalog.json_build_array(f.conrelid::pg_catalog.regclass::text, 'refers to',
    f.confrelid::pg_catalog.regclass::text)
  FROM pg_catalog.pg_constraint f
  WHERE f.contype = 'f' AND f.confrelid = ANY({oids}) AND f.conrelid <> ALL({oids})
  UNION ALL
  SELECT pg_catalog.json_build_array(r.ev_class::pg_catalog.regclass::text, 'looks at',
    d.refobjid::pg_catalog.regclass::text)
  FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid
  WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
    AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
    AND d.refobjid = ANY({oids}) AND r.ev_class <> ALL({oids})
  UNION ALL
  SELECT pg_catalog.json_build_array(i.inhrelid::pg_catalog.regclass::text, 'is a part of',
    i.inhparent::pg_catalog.regclass::text)
  FROM pg_catalog.pg_inherits i WHERE i.inhparent = ANY({oids}) AND i.inhrelid <> ALL({oids})
  UNION ALL
  SELECT pg_catalog.json_build_array(i.inhparent::pg_catalog.regclass::text, 'is made up of',
    i.inhrelid::pg_catalog.regclass::text)
  FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhparent AND c.relkind IN ('r', 'p')
  WHERE i.inhrelid = ANY({oids}) AND i.inhparent <> ALL({oids})
) AS x(row)
"""
_DEFINITION = """
SELECT pg_catalog.json_build_array(
  (SELECT pg_catalog.json_agg(pg_catalog.json_build_array(a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
      a.attnotnull, a.attidentity, a.attgenerated, pg_catalog.pg_get_expr(e.adbin, e.adrelid)) ORDER BY a.attnum)
    FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT pg_catalog.json_agg(pg_catalog.json_build_array(k.conname, pg_catalog.pg_get_constraintdef(k.oid))
      ORDER BY k.conname)
    FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype <> 'n' AND k.contype <> 't'),
  (SELECT pg_catalog.json_agg(pg_catalog.pg_get_indexdef(i.indexrelid)
      ORDER BY pg_catalog.pg_get_indexdef(i.indexrelid)) FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid),
  (SELECT pg_catalog.json_agg(pg_catalog.pg_get_triggerdef(t.oid) ORDER BY t.tgname)
    FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal),
  CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) END)
FROM pg_catalog.pg_class c WHERE c.oid = {name}::pg_catalog.regclass
"""
# The sum does not depend on the order of rows, and needs neither sorting nor memory.
_ROWS = """
SELECT count(*), sum(('x' || substr(h, 1, 16))::bit(64)::bigint::numeric),
  sum(('x' || substr(h, 17, 16))::bit(64)::bigint::numeric)
FROM (SELECT md5("the checkpoint row"::text) FROM ONLY {name} AS "the checkpoint row") AS x(h)
"""


def read_relations(query: Query) -> list[Relation]:
    return sorted(Relation(*row) for row in _read_rows(query, _RELATIONS))


def _read_rows(query: Query, sql: str) -> list[list[Any]]:
    rows: list[list[Any]] = json.loads(query(sql))
    return rows


def choose(relations: Sequence[Relation], tables: Sequence[Relation] | None) -> list[Relation]:
    names = None if tables is None else {(one.schema, one.name) for one in tables}
    return [one for one in relations if names is None or (one.schema, one.name) in names]


def find_asked(relations: Sequence[Relation], names: Sequence[str]) -> list[Relation]:
    return sorted({_find_one([one for one in relations if one.kind != "S"], name) for name in names})


def _find_one(relations: Sequence[Relation], name: str) -> Relation:
    found = [one for one in relations if one.name == name] or [
        one
        for one in relations
        if name in [f"{a}.{b}" for a in (one.schema, _quote(one.schema)) for b in (one.name, _quote(one.name))]
    ]
    shown = escape_controls(shorten(name, 60))
    if not found:
        raise CheckpointError(f"there is no table {shown}", "names are matched as they are written, case and all")
    if len(found) > 1:
        named = escape_controls(", ".join(f"{one.schema}.{one.name}" for one in found[:5]))
        raise CheckpointError(f"there are several tables {shown}: {named}", "name the schema too: schema.table")
    return found[0]


def _oids(relations: Sequence[Relation]) -> str:
    names = ", ".join(f"{_literal(one.quoted)}::pg_catalog.regclass::oid" for one in relations)
    return f"ARRAY[{names}]::oid[]"


def check_closed(query: Query, relations: Sequence[Relation]) -> None:
    depending = _read_rows(query, _DEPENDING.format(oids=_oids(relations)))
    if depending:
        told = ", ".join(sorted({f"{other} {how} {own}" for other, how, own in depending})[:5])
        named = " ".join(f"--table {shlex.quote(other)}" for other in sorted({row[0] for row in depending})[:5])
        hint = f"name these too: {named}; or no tables, for the whole database"
        raise CheckpointError(escape_controls(f"these tables cannot be put back alone: {told}"), escape_controls(hint))


def hash_relations(query: Query, relations: Sequence[Relation], *, with_owned: bool) -> str:
    """The hash over definitions and rows of all of them. with_owned: of the sequences of their columns too."""
    if with_owned and relations:
        owned = _read_rows(query, _OWNED.format(oids=_oids(relations)))
        relations = [*relations, *(Relation(*row) for row in owned)]
    digest = sha256(b"postgresql 1\n")
    for one in sorted(relations):
        digest.update(json.dumps(one).encode())
        if one.kind == "S":
            answers = [query(f"SELECT last_value, is_called FROM {one.quoted}")]  # noqa: S608 - quoted
        else:
            answers = [query(_DEFINITION.format(name=_literal(one.quoted)))]
        if one.kind == "r":
            answers.append(query(_ROWS.format(name=one.quoted)))
        digest.update(json.dumps(answers).encode())
    return digest.hexdigest()


_DROPS = (
    (("v",), "VIEW"),
    (("m",), "MATERIALIZED VIEW"),
    (("f",), "FOREIGN TABLE"),
    (("r", "p"), "TABLE"),
    (("S",), "SEQUENCE"),
)


# One after another, again and again: views may depend on one another in any order.
_DROP_ALL = """
DECLARE waiting text[] := ARRAY[{statements}]::text[]; blocked text[]; one text;
BEGIN
  WHILE pg_catalog.cardinality(waiting) > 0 LOOP
    blocked := ARRAY[]::text[];
    FOREACH one IN ARRAY waiting LOOP
      BEGIN EXECUTE one; EXCEPTION WHEN dependent_objects_still_exist THEN
        blocked := pg_catalog.array_append(blocked, one);
      END;
    END LOOP;
    IF pg_catalog.cardinality(blocked) = pg_catalog.cardinality(waiting) THEN EXECUTE blocked[1]; END IF;
    waiting := blocked;
  END LOOP;
END
"""


def write_drops(relations: Sequence[Relation], *, cascade: bool) -> str:
    """SQL that drops these, whatever depends on what among them. cascade: and all else that depends on them."""
    statements = []
    for kinds, words in _DROPS:
        names = [one.quoted for one in relations if one.kind in kinds]
        groups = [", ".join(names)] if words == "TABLE" and names else names  # tables refer to one another in circles
        statements += [f"DROP {words} IF EXISTS {group}{' CASCADE' if cascade else ''}" for group in groups]
    body = _DROP_ALL.format(statements=", ".join(_literal(one) for one in statements))
    return f"SET standard_conforming_strings = on;\nDO {_literal(body)};\n"
