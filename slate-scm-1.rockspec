-- The Lua library and slatectl as a rock: `luarocks --lua-version=5.4 make`. The programs in C are made by make, which
-- installs the library too; this is for those who want the library alone.
rockspec_format = "3.0"
package = "slate"
version = "scm-1"
source = { url = "git+file://." }
description = {
    summary = "Inspect, tune and script the slab caches slated and memcached",
    detailed = "A client for the text and meta protocols, rings and clusters, typed statistics, snapshots, page moves, "
        .. "policies, charts, and slatectl on top of them.",
    license = "BSD-3-Clause",
}
dependencies = { "lua >= 5.4", "luasocket >= 3.0", "lua-cjson >= 2.1", "argparse >= 0.7" }
build = {
    -- All of lua/slate is the library: a list of its modules could only be wrong.
    type = "command",
    install_command = "mkdir -p '$(LUADIR)' && cp -R lua/slate '$(LUADIR)/' && cp man/explain.txt '$(LUADIR)/slate/'",
    install = { bin = { slatectl = "scripts/slatectl" } },
}
