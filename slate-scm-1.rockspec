-- The Lua library and slatectl as a rock: `luarocks --lua-version=5.4 make`, with `--deps-mode none` where what it needs
-- comes from the system's packages (lua-socket, lua-cjson, lua-argparse). The programs in C are made by make, which
-- installs the library too; this is for those who want the library alone.
rockspec_format = "3.0"
package = "slate"
version = "scm-1"
source = { url = "git+file://." }
description = {
    summary = "Inspect, tune and script the slab caches slated and memcached",
    detailed = "A client for the text and meta protocols, rings, typed statistics, snapshots, page moves, "
        .. "policies, charts, and slatectl on top of them.",
    license = "BSD-3-Clause",
}
dependencies = { "lua >= 5.4", "luasocket >= 3.0", "lua-cjson >= 2.1", "argparse >= 0.7" }
build = {
    -- All of lua/slate is the library: a list of its modules could only be wrong.
    type = "command",
    build_command = "mkdir -p build/rock && "
        .. "sed \"s|@VERSION@|`sed -n 's/^VERSION := //p' Makefile`|\" scripts/slatectl >build/rock/slatectl "
        .. "&& chmod +x build/rock/slatectl",
    install_command = "mkdir -p '$(LUADIR)' && cp -R lua/slate '$(LUADIR)/' && cp man/explain.txt '$(LUADIR)/slate/'",
    install = { bin = { slatectl = "build/rock/slatectl" } },
}
