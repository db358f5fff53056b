# SPDX-License-Identifier: BSD-3-Clause
"""Settings for Django's own cache tests: both memcached backends, on the server that MEMCACHED_ADDRESS names."""

import os

BACKENDS = "django.core.cache.backends"
CACHES = {"default": {"BACKEND": f"{BACKENDS}.locmem.LocMemCache"}}
for name in ("PyMemcacheCache", "PyLibMCCache"):
    CACHES[name] = {"BACKEND": f"{BACKENDS}.memcached.{name}", "LOCATION": os.environ["MEMCACHED_ADDRESS"]}
DATABASES = {name: {"ENGINE": "django.db.backends.sqlite3"} for name in ("default", "other")}
SECRET_KEY = "of no worth"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
