-- A normal distribution of the logarithm, from two uniform ones (Box and
-- Muller), and activity that is more recent the more there is of it.  Everybody
-- has a name, and a country: many are from the first, few from the last.
CREATE FUNCTION pg_temp.name_of(id integer) RETURNS text IMMUTABLE LANGUAGE sql RETURN
	(ARRAY['Ada', 'Bela', 'Chidi', 'Dana', 'Emre', 'Freya', 'Goro', 'Hana', 'Ines', 'Jomo', 'Kaia', 'Liam', 'Mira',
		'Noor', 'Olga', 'Priya', 'Quinn', 'Rafa', 'Sefu', 'Tuva', 'Uma', 'Vito', 'Wren', 'Xia', 'Yusuf'])[1 + id % 25] ||
	(ARRAY[' Ash', ' Birch', ' Cedar', ' Dune', ' Ember', ' Fjord', ' Grove', ' Heath', ' Isle', ' Jade', ' Kestrel',
		' Lark', ' Moss', ' North', ' Onyx', ' Pine', ' Quartz', ' River', ' Storm', ' Thorn', ' Umber', ' Vale', ' Wolf',
		' Yarrow', ' Zephyr', ' Amber', ' Brook', ' Coral', ' Drift', ' Echo', ' Flint', ' Gale', ' Hollow', ' Iris',
		' Juniper', ' Knoll', ' Lumen', ' Marsh', ' Nova', ' Opal'])[1 + id / 25 % 40] ||
	coalesce(' ' || nullif(id / 1000, 0)::text, '');
CREATE FUNCTION pg_temp.random_country() RETURNS text LANGUAGE sql RETURN
	(ARRAY['US', 'IN', 'BR', 'DE', 'JP', 'FR', 'GB', 'KR', 'MX', 'PL', 'ES', 'IT', 'NG', 'ID', 'TR', 'CA', 'SE', 'KE', 'NZ',
		'IS'])[1 + floor(20 * random() ^ 2)::integer];
\set ECHO queries
\timing on
INSERT INTO player_scores (player_id, name, country, score, updated_at)
SELECT id, pg_temp.name_of(id), pg_temp.random_country(),
	round(exp(7.5 + 1.1 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))),
	date_trunc('second', now() - random() ^ 2 * interval '90 days')
FROM generate_series(1, :players) AS id;
