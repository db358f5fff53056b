#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""python-binary-memcached's basic operations against a server: bmemcached_basic.py HOST PORT [USER PASSWORD].

Exit 0 when each does what its documentation says; else an assertion tells which did not. Flushes the server.
"""

import sys

import bmemcached

CHECKS = 0


def check(what, got, want):
    global CHECKS
    CHECKS += 1
    assert got == want, f"{what}: got {got!r}, want {want!r}"


def basics(client):
    check("flush_all", client.flush_all(), True)
    check("get of nothing", client.get("absent"), None)
    check("set", client.set("key", "value"), True)
    check("get", client.get("key"), "value")
    check("an object", client.set("object", {"a": [1, 2]}), True)
    check("get of the object", client.get("object"), {"a": [1, 2]})
    check("a compressed value", client.set("long", "ab" * 5000), True)
    check("get of it", client.get("long"), "ab" * 5000)
    check("add to a key that is there", client.add("key", "other"), False)
    check("add", client.add("new", "new"), True)
    check("replace", client.replace("new", "newer"), True)
    check("replace of nothing", client.replace("absent", "x"), False)
    check("set of several", client.set_multi({"a": "1", "b": "2"}), [])
    check("get of several", client.get_multi(["a", "b", "absent"]), {"a": "1", "b": "2"})
    check("incr with a first value", client.incr("n", 5, default=10), 10)
    check("incr", client.incr("n", 5), 15)
    check("decr", client.decr("n", 20), 0)
    value, cas = client.gets("key")
    check("gets", value, "value")
    check("cas", client.cas("key", "swapped", cas), True)
    check("cas with an old one", client.cas("key", "again", cas), False)
    check("delete", client.delete("key"), True)
    check("delete of nothing", client.delete("key"), True)
    check("delete of several", client.delete_multi(["a", "b"]), True)
    large = bytes(range(256)) * 2048
    check("set of half a megabyte", client.set("large", large, compress_level=0), True)
    check("get of half a megabyte", client.get("large"), large)
    check("stats", b"curr_items" in next(iter(client.stats().values())) or "curr_items" in next(iter(client.stats().values())), True)
    check("flush_all", client.flush_all(), True)
    check("get after the flush", client.get("new"), None)


def main():
    host, port, *login = sys.argv[1:]
    client = bmemcached.Client((f"{host}:{port}",), *login)
    basics(client)
    client.disconnect_all()
    print(f"python-binary-memcached: {CHECKS} checks")


main()
