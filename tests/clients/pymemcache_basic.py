#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pymemcache's basic operations against a server: pymemcache_basic.py HOST PORT [CERTIFICATE].

With a certificate, by TLS to a server that has it.
Exit 0 when each does what its documentation says; else an assertion tells which did not.
Flushes the server.
"""

import ssl
import sys

from pymemcache.client.base import Client, PooledClient
from pymemcache.exceptions import MemcacheClientError, MemcacheServerError


def check(what, got, want):
    assert got == want, f"{what}: got {got!r}, want {want!r}"


def basics(client):
    check("flush_all", client.flush_all(noreply=False), True)
    check("get of nothing", client.get("absent"), None)
    check("set", client.set("key", b"value", noreply=False), True)
    check("get", client.get("key"), b"value")
    check("set noreply", client.set("quiet", b"1", noreply=True), True)
    check("get after noreply", client.get("quiet"), b"1")
    check("add to a key that is there", client.add("key", b"other", noreply=False), False)
    check("add", client.add("new", b"new", noreply=False), True)
    check("replace", client.replace("new", b"newer", noreply=False), True)
    check("replace of nothing", client.replace("absent", b"x", noreply=False), False)
    check("append", client.append("new", b"er", noreply=False), True)
    check("prepend", client.prepend("new", b"the ", noreply=False), True)
    check("get of the joined", client.get("new"), b"the newerer")
    check("set_many", client.set_many({"a": b"1", "b": b"2"}, noreply=False), [])
    check("get_many", client.get_many(["a", "b", "absent"]), {"a": b"1", "b": b"2"})
    check("delete", client.delete("a", noreply=False), True)
    check("delete of nothing", client.delete("a", noreply=False), False)
    check("delete_many", client.delete_many(["b", "absent"], noreply=False), True)
    check("touch", client.touch("key", 100, noreply=False), True)
    check("touch of nothing", client.touch("absent", 100, noreply=False), False)
    if hasattr(client, "gat"):  # since pymemcache 4
        check("gat", client.gat("key", 100), b"value")


def counters(client):
    client.set("n", b"10", noreply=False)
    check("incr", client.incr("n", 5), 15)
    check("decr", client.decr("n", 20), 0)
    check("incr of nothing", client.incr("absent", 1), None)
    client.set("word", b"ten", noreply=False)
    try:
        client.incr("word", 1)
    except MemcacheClientError as error:
        assert b"non-numeric" in error.args[0], error
    else:
        raise AssertionError("incr of a word succeeded")


def check_and_set(client):
    client.set("key", b"one", noreply=False)
    value, unique = client.gets("key")
    check("gets", value, b"one")
    check("cas", client.cas("key", b"two", unique, noreply=False), True)
    check("cas with an old unique", client.cas("key", b"three", unique, noreply=False), False)
    check("cas of nothing", client.cas("absent", b"x", unique, noreply=False), None)
    check("get after cas", client.get("key"), b"two")


def limits(client):
    large = bytes(range(256)) * 2048
    check("set of half a megabyte", client.set("large", large, noreply=False), True)
    check("get of half a megabyte", client.get("large"), large)
    check("flags", client.set("flags", b"x", flags=12345, noreply=False), True)
    try:
        client.set("too large", b"x", noreply=False)
    except MemcacheClientError:
        pass
    else:
        raise AssertionError("a key with a blank was sent")
    try:
        client.set("huge", bytes(1024 * 1024 + 1), noreply=False)
    except MemcacheServerError as error:
        assert b"too large" in error.args[0], error
    else:
        raise AssertionError("a value above the limit was stored")


def administration(client):
    stats = client.stats()
    assert b"curr_items" in stats and b"get_hits" in stats, sorted(stats)
    assert client.stats("settings"), "stats settings is empty"
    assert client.version(), "version is empty"
    client.cache_memlimit(64)


def main():
    host, port = sys.argv[1], int(sys.argv[2])
    tls = {"tls_context": ssl.create_default_context(cafile=sys.argv[3])} if len(sys.argv) > 3 else {}
    client = Client((host, port), timeout=10, connect_timeout=10, **tls)
    for part in (basics, counters, check_and_set, limits):
        part(client)
        client.close()
    administration(client)
    client.quit()
    pooled = PooledClient((host, port), timeout=10, max_pool_size=4, **tls)
    basics(pooled)
    pooled.close()


if __name__ == "__main__":
    main()
