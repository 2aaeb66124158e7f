from django.db import migrations


class Migration(migrations.Migration):
    """The extension in a schema of its own, the board, and the view of ranks."""

    dependencies = [("game", "0001_initial")]

    operations = [
        migrations.RunSQL(
            ["CREATE SCHEMA leaderboard",
             "GRANT USAGE ON SCHEMA leaderboard TO PUBLIC",
             "CREATE EXTENSION leaderboard SCHEMA leaderboard"],
            ["DROP EXTENSION leaderboard CASCADE", "DROP SCHEMA leaderboard"]),
        migrations.RunSQL(
            "SELECT leaderboard.lb_create_board('players', 'player', member => 'id',"
            " rank_by => 'score DESC', method => 'rank')",
            "SELECT leaderboard.lb_drop_board('players')"),
        migrations.RunSQL(
            "CREATE VIEW ranked AS SELECT id, score, rank() OVER (ORDER BY score DESC) FROM player",
            "DROP VIEW ranked"),
    ]
