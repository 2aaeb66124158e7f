--
-- The types that columns of a board can have, with values that are hard to keep
-- in order.  oracle.sql includes this file.
--
CREATE SCHEMA lbt;

CREATE DOMAIN lbt.level_base AS smallint CHECK (value > -32768);
CREATE DOMAIN lbt.level AS lbt.level_base;
CREATE DOMAIN lbt.user_id AS uuid;
CREATE DOMAIN lbt.nick AS varchar(40) CHECK (length(value) < 41);
CREATE DOMAIN lbt.day AS date;
CREATE DOMAIN lbt.points AS numeric(10,3);
CREATE DOMAIN lbt.elo AS double precision;
CREATE TYPE lbt.tier AS ENUM ('silver', 'gold', 'Größe', 'a:b', '7', 'never');

-- Some values differ only in the second word, some only in the first.
CREATE FUNCTION lbt.uuid_of(i integer) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
	SELECT CAST(CASE i % 4
		WHEN 0 THEN md5(i::text)
		WHEN 1 THEN lpad(to_hex(i), 32, '0')
		WHEN 2 THEN rpad(lpad(to_hex(i), 8, '0'), 32, 'f')
		ELSE '7fffffffffffffff' || CASE WHEN i % 8 = 3 THEN '8' ELSE '7' END
			|| lpad(to_hex(i), 15, '0') END AS uuid)
$$;

--
-- Up to 512 bytes: common beginnings of 500 bytes, lengths that are multiples of
-- eight, characters of two and more bytes, one byte apart behind 23 equal ones, each
-- the beginning of the next, and a uuid.
--
CREATE FUNCTION lbt.text_of(i integer) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
	SELECT CASE i % 8
		WHEN 0 THEN i::text
		WHEN 1 THEN repeat('a', 500) || i
		WHEN 2 THEN lpad(i::text, 8 * (1 + i / 8 % 64), 'b')
		WHEN 3 THEN repeat('ö', i / 8 % 120) || 'ß' || i
		WHEN 4 THEN repeat('k', 23) || chr(1 + i / 8 % 127) || i / 1016
		WHEN 5 THEN repeat('p', i / 8 % 500) || CASE WHEN i < 4000 THEN '' ELSE '#' || i END
		WHEN 6 THEN md5(i::text)::uuid::text
		ELSE CASE WHEN i % 16 = 7 THEN E'\U0010FFFF' ELSE E'\uFFFD' END || i END
$$;

-- The same in at most 40 characters.
CREATE FUNCTION lbt.short_text_of(i integer) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
	SELECT CASE i % 4
		WHEN 0 THEN i::text
		WHEN 1 THEN repeat('a', 24 + i / 4 % 10) || '#' || i
		WHEN 2 THEN repeat('p', i / 4 % 30) || CASE WHEN i < 120 THEN '' ELSE '#' || i END
		ELSE 'x' || lpad(i::text, 8 * (1 + i / 4 % 4) - 1, '0') END
$$;

--
--	name		as CREATE TABLE has it
--	base		what domains are of, without a modifier
--	roles		m member, s score, t tie-breaker, b board column
--	words		of a key that a value takes at most
--	value		the value of a number {} from 0 on.  Different numbers have
--				different values if the type is one of members.
--	step		a value near {} by a number {n}; null if there is none
--	extremes	values at the ends, and those that equal others or nearly so
--	operands	what such a column does not hold, but its values can be compared with
--	asks		whether the column may have -0, which an index has not: then
--				some reads run their queries
--
CREATE TABLE lbt.type (
	name text PRIMARY KEY,
	base text NOT NULL,
	roles text NOT NULL,
	words integer NOT NULL,
	value text NOT NULL,
	step text,
	extremes text[] NOT NULL,
	operands text[] NOT NULL DEFAULT '{}',
	asks boolean NOT NULL DEFAULT false);

INSERT INTO lbt.type (name, base, roles, words, value, step, extremes) VALUES
('smallint', 'smallint', 'mstb', 1, '{}', '{} + {n}',
	'{32767,-32768,0,-1,32766,-32767}'),
('integer', 'integer', 'mstb', 1, '{}', '{} + {n}',
	'{2147483647,-2147483648,0,-1,2147483646,-2147483647}'),
('bigint', 'bigint', 'mstb', 1, '{}', '{} + {n}',
	'{9223372036854775807,-9223372036854775808,0,-1,9223372036854775806,-9223372036854775807}'),
('lbt.level', 'smallint', 'mstb', 1, '{}', '{} + {n}', '{32767,-32767,0,-1}'),
('boolean', 'boolean', 'stb', 1, '(({}) % 2 = 0)', '(NOT {})', '{t,f}'),
('date', 'date', 'mstb', 1, '(date ''2000-01-01'' + (({}) - 10))', '{} + {n}',
	'{infinity,-infinity,4713-11-24 BC,5874897-12-31}'),
('lbt.day', 'date', 'mstb', 1, '(date ''2000-01-01'' + (({}) - 10))', '{} + {n}',
	'{infinity,-infinity,4713-11-24 BC,5874897-12-31}'),
('time', 'time without time zone', 'st', 1, '(time ''12:00'' + ({}) * interval ''1 us'')',
	'{} + {n} * interval ''1 hour''', '{00:00,24:00,23:59:59.999999,00:00:00.000001}'),
('timestamp', 'timestamp without time zone', 'mst', 1,
	'(timestamp ''2000-01-01'' + (({}) - 10) * interval ''1 us'')', '{} + {n} * interval ''1 us''',
	'{infinity,-infinity,4713-11-24 00:00 BC,294276-12-31 23:59:59.999999}'),
('timestamptz', 'timestamp with time zone', 'mst', 1,
	'(timestamptz ''2000-01-01 00:00+00'' + (({}) - 10) * interval ''1 us'')',
	'{} + {n} * interval ''1 us''',
	'{infinity,-infinity,4713-11-24 00:00+00 BC,294276-12-31 23:59:59.999999+00}'),
('uuid', 'uuid', 'mtb', 2, 'lbt.uuid_of({})', NULL,
	'{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,'
	'7fffffff-ffff-ffff-ffff-ffffffffffff,80000000-0000-0000-0000-000000000000,'
	'00000000-0000-0000-7fff-ffffffffffff,00000000-0000-0000-8000-000000000000}'),
('lbt.user_id', 'uuid', 'mtb', 2, 'lbt.uuid_of({})', NULL,
	'{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,'
	'00000000-0000-0000-7fff-ffffffffffff,00000000-0000-0000-8000-000000000000}'),
('numeric(12,2)', 'numeric', 'st', 1, '((({}) - 10) * 0.01)', '{} + {n} * 0.01',
	'{NaN,9999999999.99,-9999999999.99,0,0.01,-0.01}'),
('numeric(18)', 'numeric', 'st', 1, '({})::numeric', '{} + {n}',
	'{NaN,999999999999999999,-999999999999999999,0,-1}'),
('numeric(18,18)', 'numeric', 'st', 1, '(({}) * 0.000000000000000001)',
	'{} + {n} * 0.000000000000000001', '{NaN,0.999999999999999999,-0.999999999999999999,0}'),
('lbt.points', 'numeric', 'st', 1, '((({}) - 10) * 0.5)', '{} + {n} * 0.001',
	'{NaN,9999999.999,-9999999.999,0}'),
('real', 'real', 'st', 1, '((({}) - 5)::real / 4)', '{} + {n}',
	'{NaN,Infinity,-Infinity,3.4028235e38,-3.4028235e38,1e-45,-1e-45}'),
('double precision', 'double precision', 'st', 1, '((({}) - 5) / float8 ''3'')', '{} + {n}',
	'{NaN,Infinity,-Infinity,1.7976931348623157e308,-1.7976931348623157e308,5e-324,-5e-324}'),
('lbt.elo', 'double precision', 'st', 1, '(- (({}) / float8 ''2''))', '{} + {n}',
	'{NaN,-0,0,5e-324,-5e-324}'),
('lbt.tier', 'lbt.tier', 'b', 0, '(enum_range(NULL::lbt.tier))[1 + ({}) % 5]', NULL, '{gold,never}');

-- Of the texts, "varchar(40)" and the domain over it leave room for further columns.
INSERT INTO lbt.type (name, base, roles, words, value, extremes)
SELECT name, base, 'mtb', words, value,
	array_remove(ARRAY['', ' ', '"', '\', 'a,b', '(7,"a b")', E'\n', repeat('a', 24), repeat('a', 40)]
	|| CASE WHEN words = 65 THEN ARRAY[repeat('a', 500), repeat('a', 504), repeat('a', 512),
		repeat('a', 511) || 'b', repeat(E'\U0010FFFF', 128)] END, NULL)
FROM (VALUES ('text', 'text', 65, 'lbt.text_of({})'),
	('text COLLATE "C"', 'text', 65, 'lbt.text_of({})'),
	('varchar', 'character varying', 65, 'lbt.text_of({})'),
	('varchar(40)', 'character varying', 21, 'lbt.short_text_of({})'),
	('lbt.nick', 'character varying', 21, 'lbt.short_text_of({})')) AS t (name, base, words, value);

UPDATE lbt.type SET operands = CASE base
	WHEN 'numeric' THEN '{Infinity,-Infinity,0.005,0.0000000000000000001,1e30,-1e30}'
	WHEN 'smallint' THEN '{-32768}'
	ELSE '{-0,0}' END::text[]
WHERE base IN ('numeric', 'smallint', 'real', 'double precision');
UPDATE lbt.type SET asks = true WHERE name = 'lbt.elo';

-- The type of a column without domains and modifiers, or null.
CREATE FUNCTION lbt.base_type(relation regclass, col text) RETURNS text
LANGUAGE sql STABLE AS $$
	WITH RECURSIVE t AS (
		SELECT atttypid AS type FROM pg_attribute
		WHERE attrelid = relation AND attname = (parse_ident(col))[1]
		UNION ALL
		SELECT p.typbasetype FROM t JOIN pg_type p ON p.oid = t.type AND p.typtype = 'd')
	SELECT format_type(type, NULL) FROM t JOIN pg_type p ON p.oid = t.type
	WHERE p.typtype <> 'd'
$$;

-- The extremes of a type: a row of texts, or of nulls for other types.
CREATE FUNCTION lbt.extremes(base_type text) RETURNS SETOF text
LANGUAGE sql STABLE AS $$
	SELECT DISTINCT e FROM lbt.type AS t CROSS JOIN unnest(t.extremes || t.operands) AS e
	WHERE t.base = base_type
$$;
