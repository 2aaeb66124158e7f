-- A thousand players with Elo ratings, and their board.
CREATE TABLE arena_player (
	id      integer PRIMARY KEY,
	name    text NOT NULL,
	rating  integer NOT NULL,
	reached timestamptz NOT NULL DEFAULT clock_timestamp());

-- The sum of twelve uniform numbers is nearly normal.
INSERT INTO arena_player (id, name, rating)
SELECT i,
	(ARRAY['Ada', 'Bela', 'Chidi', 'Dana', 'Emre', 'Freya', 'Goro', 'Hana', 'Ines', 'Jomo',
		'Kaia', 'Liam', 'Mira', 'Noor', 'Olga', 'Priya', 'Quinn', 'Rafa', 'Sefu', 'Tuva',
		'Uma', 'Vito', 'Wren', 'Xia', 'Yusuf'])[1 + i * 7 % 25] || ' ' ||
	(ARRAY['Ash', 'Birch', 'Cedar', 'Dune', 'Ember', 'Fjord', 'Grove', 'Heath', 'Isle', 'Jade',
		'Kestrel', 'Lark', 'Moss', 'North', 'Onyx', 'Pine', 'Quartz', 'River', 'Storm', 'Thorn',
		'Umber', 'Vale', 'Wolf', 'Yarrow', 'Zephyr', 'Amber', 'Brook', 'Coral', 'Drift', 'Echo',
		'Flint', 'Gale', 'Hollow', 'Iris', 'Juniper', 'Knoll', 'Lumen', 'Marsh', 'Nova', 'Opal'])[1 + (i - 1) / 25],
	1500 + round(220 * ((SELECT sum(random()) FROM generate_series(1, 12) WHERE i > 0) - 6))
FROM generate_series(1, 1000) i;

SELECT leaderboard.lb_create_board('arena', 'arena_player', 'id', 'rating DESC, reached ASC');
SELECT leaderboard.lb_watch('arena', 10);
