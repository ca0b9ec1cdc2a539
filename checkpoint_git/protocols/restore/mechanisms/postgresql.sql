-- What postgresql_catalog.py asks of PostgreSQL, and how it drops tables. Names in braces are filled in.

-- name: begin
-- Everything is read as of one instant, and written in one way whatever the server's settings are.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL standard_conforming_strings = on; SET LOCAL search_path = ''; SET LOCAL client_encoding = 'UTF8';
SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres'; SET LOCAL timezone = 'UTC';
SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'; SET LOCAL row_security = off

-- name: relations
SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(n.nspname, c.relname, c.relkind)), '[]')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm', 'S') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
    WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e')

-- name: owned
SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(n.nspname, c.relname, c.relkind)), '[]')
FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.objid AND c.relkind = 'S'
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refclassid = d.classid
  AND d.refobjid = ANY({oids}) AND d.deptype IN ('a', 'i')

-- name: depending
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

-- name: definition
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

-- name: rows
-- The sum does not depend on the order of rows, and needs neither sorting nor memory.
SELECT count(*), sum(('x' || substr(h, 1, 16))::bit(64)::bigint::numeric),
  sum(('x' || substr(h, 17, 16))::bit(64)::bigint::numeric)
FROM (SELECT md5("the checkpoint row"::text) FROM ONLY {name} AS "the checkpoint row") AS x(h)

-- name: drop_all
-- One after another, again and again: views may depend on one another in any order.
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
