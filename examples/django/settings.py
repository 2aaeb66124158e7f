import os

INSTALLED_APPS = ["game"]
# libpq's environment variables say where the database is.
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ.get("PGDATABASE", "game")}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SECRET_KEY = "for the example only"
USE_TZ = True
