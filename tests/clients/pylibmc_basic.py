#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pylibmc's operations in the binary protocol: pylibmc_basic.py HOST PORT [NAME PASSWORD].

Exit 0 when each does what its documentation says; else an assertion tells which did not.
"""

import sys

import pylibmc


def check(what, got, want):
    assert got == want, f"{what}: got {got!r}, want {want!r}"


def basics(client):
    check("get of nothing", client.get("absent"), None)
    check("set", client.set("key", "value"), True)
    check("get", client.get("key"), "value")
    check("add to a key that is there", client.add("key", "other"), False)
    check("add", client.add("new", "new"), True)
    check("replace", client.replace("new", "newer"), True)
    check("set_multi", client.set_multi({"a": 1, "b": 2}), [])
    check("get_multi", client.get_multi(["a", "b", "absent"]), {"a": 1, "b": 2})
    check("delete", client.delete("a"), True)
    check("delete of nothing", client.delete("a"), False)
    check("touch", client.touch("key", 100), True)


def counters(client):
    client.set("n", "10")
    check("incr", client.incr("n", 5), 15)
    check("decr", client.decr("n", 20), 0)
    try:
        client.incr("absent")
    except pylibmc.NotFound:
        pass
    else:
        raise AssertionError("incr of nothing succeeded")


def check_and_set(client):
    client.set("key", "one")
    value, unique = client.gets("key")
    check("gets", value, "one")
    check("cas", client.cas("key", "two", unique), True)
    check("cas with an old unique", client.cas("key", "three", unique), False)
    check("get after cas", client.get("key"), "two")


def values(client):
    large = bytes(range(256)) * 2048
    client.set("large", large)
    check("get of half a megabyte", client.get("large"), large)
    check("get of what was pickled", (client.set("list", [1, "two"]), client.get("list")), (True, [1, "two"]))
    try:
        client.set("huge", bytes(1024 * 1024 + 1))
    except pylibmc.Error:
        pass
    else:
        raise AssertionError("a value above the limit was stored")


def main():
    login = {"username": sys.argv[3], "password": sys.argv[4]} if len(sys.argv) > 3 else {}
    client = pylibmc.Client(
        [f"{sys.argv[1]}:{sys.argv[2]}"], binary=True, behaviors={"cas": True}, **login
    )
    for part in (basics, counters, check_and_set, values):
        part(client)
    if not login:  # which would be asked for on a second connection
        assert client.get_stats(), "no statistics"


if __name__ == "__main__":
    main()
