# SPDX-License-Identifier: BSD-3-Clause
"""pylibmc's own tests on a server of 127.0.0.1: pylibmc_suite.py FOLDER PORT. They name port 11211 in three places."""

import os
import sys

import pytest
from pylibmc import autoconf

folder, port = sys.argv[1:]
sys.path.insert(0, folder)
import tests

os.environ["MEMCACHED_PORT"] = tests.PylibmcTestCase.memcached_port = port
_, *others = autoconf.elasticache.__defaults__
autoconf.elasticache.__defaults__ = (f"127.0.0.1:{port}", *others)
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", f"{folder}/tests"]))
