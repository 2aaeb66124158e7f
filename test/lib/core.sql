--
-- Boards on the tables of PostgreSQL's regression tests.  test-core.sh runs this as one
-- of them, after those that make the tables and their indexes.
--
ALTER TABLE onek ALTER unique1 SET NOT NULL, ALTER unique2 SET NOT NULL, ALTER two SET NOT NULL,
	ALTER ten SET NOT NULL, ALTER thousand SET NOT NULL;
ALTER TABLE tenk1 ALTER unique1 SET NOT NULL, ALTER unique2 SET NOT NULL, ALTER four SET NOT NULL,
	ALTER hundred SET NOT NULL, ALTER thousand SET NOT NULL;
CREATE UNIQUE INDEX ON onek (unique1);
CREATE UNIQUE INDEX ON onek (unique2);
CREATE UNIQUE INDEX ON tenk1 (unique1);
CREATE UNIQUE INDEX ON tenk1 (unique2);
CREATE UNIQUE INDEX ON int4_tbl (f1);
CREATE UNIQUE INDEX ON int8_tbl (q1, q2);
SELECT lb_create_board(concat_ws('_', t, m, c), t::regclass, m, c || CASE WHEN c ~ 'DESC' THEN '' ELSE ' ASC' END)
FROM unnest('{onek,tenk1}'::text[]) AS t, unnest('{unique1,unique2}'::text[]) AS m,
	unnest('{unique1,unique2,two,four,ten,hundred,thousand,tenthous,"thousand DESC, ten"}'::text[]) AS c;
SELECT lb_create_board('int4', 'int4_tbl', 'f1', 'f1 ASC');
SELECT lb_create_board('int8', 'int8_tbl', 'q1, q2', 'q1 ASC');
SELECT lb_create_board('int8_desc', 'int8_tbl', 'q1, q2', 'q2 DESC');
-- Tables with children: a board has the rows of the table only.
CREATE UNIQUE INDEX ON person (name);
CREATE UNIQUE INDEX ON emp (name);
SELECT lb_create_board('person', 'person', 'name', 'age ASC');
SELECT lb_create_board('emp', 'emp', 'name', 'salary DESC');
SELECT lb_wait_ready();
