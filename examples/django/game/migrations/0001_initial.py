from django.db import migrations, models
import django.db.models.deletion


class Migration(migrations.Migration):

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Player",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.TextField()),
                ("country", models.TextField()),
                ("score", models.BigIntegerField()),
            ],
            options={"db_table": "player"},
        ),
        migrations.CreateModel(
            name="Ranked",
            fields=[
                ("player", models.OneToOneField(
                    db_column="id", on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True,
                    related_name="ranked", serialize=False, to="game.player")),
                ("score", models.BigIntegerField()),
                ("rank", models.BigIntegerField()),
            ],
            options={"db_table": "ranked", "managed": False},
        ),
    ]
