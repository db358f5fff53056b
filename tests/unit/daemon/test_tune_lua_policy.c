/* Policies in Lua within the daemon: their limits, their snapshots, and that ratio decides as mode 1 does. lua_policy_spec tests the rules
 * that hold inside and outside: most faults of policies, moves and settings. With --export this program prints snapshots in the format of
 * recordings, and each policy's decision; lua_policy_spec compares them with slatectl's. */
#include "tap.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/automove/automove.h"
#include "control/automove/lua_policy.h"
#include "control/automove/ratio.h"

static char dir[] = "/tmp/slate-policies-XXXXXX";

/* No claim measures time: the limit of processor time is off except in the test of that limit. */
static const struct lua_box_limits patient = {
    .instructions = 3 * 1000 * 1000, .memory_bytes = (size_t)16 << 20, .cpu_us = 600 * 1000 * 1000};

static const char *path_of(const char *name) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s.lua", dir, name);
    return path;
}

static void put(const char *name, const char *text, size_t bytes) {
    FILE *f = fopen(path_of(name), "wb");
    if (f == NULL || fwrite(text, 1, bytes, f) != bytes || fclose(f) != 0) {
        perror(path_of(name));
        exit(1);
    }
}

static void forget(const char *name) { unlink(path_of(name)); }

enum { CLASSES = 4 };

static struct snapshot made_up(uint64_t second) {
    struct snapshot s = {.time_us = second * 1000000, .pages_limit = 40, .class_count = CLASSES};
    for (unsigned i = 1; i <= 3; i++) { /* class 4 is not in use */
        s.classes[i] = (struct snapshot_class){.chunk_bytes = 100 * i, .chunks_per_page = 1000, .pages = 10, .items = 10000,
                                               .age_s = 50 * i, .evicted = second * i, .get_hits = second * 100};
    }
    return s;
}

static struct snapshot before, after; /* a second apart */

/* Loads a source and decides once. Returns whether the policy may go on; `why` has the error or the decision. */
static bool try_source(const char *source, size_t bytes, const char *settings, const struct lua_box_limits *limits,
                       struct decision *d, char *why) {
    struct lua_policy p;
    char argument[AUTOMOVE_NAME_BYTES];
    snprintf(argument, sizeof argument, "it%s", settings);
    put("it", source, bytes);
    bool fine = lua_policy_open(&p, dir, argument, limits, why);
    if (fine) {
        *d = (struct decision){.count = 0};
        lua_policy_decide(&p, &before, &after, d);
        snprintf(why, REASON_BYTES, "%s", d->why);
        fine = !d->failed;
        lua_policy_close(&p);
        if (p.box.used_bytes != 0) {
            ok(false, "a box that is closed has given all its memory back");
        }
    }
    forget("it");
    return fine;
}

static void refused(const char *source, const char *said, const char *claim) {
    struct decision d;
    char why[REASON_BYTES] = "";
    bool fine = try_source(source, strlen(source), "", &patient, &d, why);
    ok(!fine && strstr(why, said) != NULL, "%s: %s", claim, why);
}

/* The body of a decide function. */
static void refused_body(const char *body, const char *said, const char *claim) {
    char source[2048];
    snprintf(source, sizeof source, "return { decide = function(before, after, state) %s end }", body);
    refused(source, said, claim);
}

TEST(test_files) {
    char why[REASON_BYTES], missing[AUTOMOVE_NAME_BYTES];
    struct lua_policy p;
    const struct automove_config cfg = {.policy_dir = dir};
    ok(!lua_policy_open(&p, dir, "nosuch", &patient, why) && strstr(why, "there is no policy nosuch in /tmp/"), "a missing file");
    ok(!lua_policy_open(&p, NULL, "x", &patient, why) && strstr(why, "no policy directory"), "no directory");
    const char *const bad_names[] = {"../x", "a/b", "a.lua", "", " ", "\xc3\xa9", "a\tb",
                                     "a123456789b123456789c123456789d123456789e123456789"};
    for (size_t i = 0; i < sizeof bad_names / sizeof bad_names[0]; i++) {
        ok(!automove_lua.check(&cfg, bad_names[i], why) && strstr(why, "letters, digits, - and _"), "the name '%s'", bad_names[i]);
    }
    memset(missing, 'x', sizeof missing - 1);
    missing[sizeof missing - 1] = '\0';
    ok(!automove_lua.check(&cfg, missing, why), "a name that is too long");
    put("there", "return 1", 8);
    ok(!automove_lua.check(&cfg, "there", why) && strstr(why, "not a table with a function decide"), "a file that is no policy does not pass the check");
    static const char policy[] = "return { decide = function() end, settings = { a = { default = 1 }, b = { default = 2 } } }";
    put("there", policy, sizeof policy - 1);
    ok(automove_lua.check(&cfg, "there a=3 b=4", why), "a policy passes the check, with settings: %s", why);
    ok(!automove_lua.check(&cfg, "there c=5", why) && strstr(why, "c"), "not with those that it does not have: %s", why);
    forget("there");
    const char *path = path_of("folder");
    ok(mkdir(path, 0700) == 0 && !lua_policy_open(&p, dir, "folder", &patient, why) && strstr(why, "is not a file"), "a folder");
    rmdir(path);
    ok(mkfifo(path, 0600) == 0 && !lua_policy_open(&p, dir, "folder", &patient, why) && strstr(why, "is not a file"),
       "a pipe, which would make the tuner wait");
    unlink(path);
    char *large = malloc(LUA_POLICY_SOURCE_MAX + 1);
    memset(large, ' ', LUA_POLICY_SOURCE_MAX + 1);
    put("large", large, LUA_POLICY_SOURCE_MAX + 1);
    ok(!lua_policy_open(&p, dir, "large", &patient, why) && strstr(why, "at most 256 KiB"), "a file that is too long");
    put("large", large, LUA_POLICY_SOURCE_MAX);
    ok(!lua_policy_open(&p, dir, "large", &patient, why) && strstr(why, "returns a nil"), "the longest file is read");
    forget("large");
    free(large);
}

TEST(test_broken) {
    static const char dumped[] = "\x1bLua\x54\x00\x19\x93";
    struct decision d;
    char why[REASON_BYTES];
    refused("return {", "it.lua:1: ", "a syntax error, with its line");
    ok(!try_source(dumped, sizeof dumped, "", &patient, &d, why) && strstr(why, "binary chunk"), "precompiled code");
    refused("return { decide = print, init = function() error('no luck', 0) end }", "no luck", "an init that fails");
    refused_body("local x = nil; return x.y", "it.lua:1: attempt to index a nil value (local 'x')", "a runtime error");
    refused_body("\ntable.sort({ 3, 2, 1, 4 }, function() return true end)", "it.lua:2: invalid order function for sorting", "an order that is none");
    refused_body("error({})", "raised a table instead of a message", "an error that is a table");
    refused_body("error(setmetatable({}, { __tostring = function() while true do end end }))", "raised a table",
                 "an error's __tostring is not called");
    refused_body("error('a\\nb\\27[2J\\200c', 0)", "a?b?[2J?c", "an error's text is made printable");
    refused_body("error(string.rep('x', 60000), 0)", "xxxxxxxxxx", "an error's text is cut");
}

TEST(test_answers) {
    struct decision d;
    char why[REASON_BYTES];
    static const char good[] = "return { decide = function(before, after) return {"
                               " { from = 1, to = 2, reason = 'one\\n' }, { from = 2, to = 0, pages = 8, reason = 'many' } } end }";
    ok(try_source(good, sizeof good - 1, "", &patient, &d, why) && d.count == 2, "two moves");
    ok(d.moves[0].from == 1 && d.moves[0].to == 2 && d.moves[0].pages == 1, "a page is the default");
    is_str(d.moves[0].reason, "one?", "reasons are printable");
    ok(d.moves[1].from == 2 && d.moves[1].to == SLAB_CLASS_NONE && d.moves[1].pages == 8, "pages to the pool");
    static const char none[] = "return { decide = function() return nil, 'all is well' end }";
    ok(try_source(none, sizeof none - 1, "", &patient, &d, why) && d.count == 0, "no move");
    is_str(why, "all is well", "with its reason");
    refused_body("return 5", "a list of moves, not a number", "no list");
    refused_body("return { 5 }", "move 1 is not a table", "a move that is a number");
    refused_body("return { { from = 1, to = '2', reason = 'r' } }", "to is a whole number", "a destination that is a text");
    refused_body("return { { from = 1, to = 2.5, reason = 'r' } }", "not 2.5", "half a class");
    refused_body("return { { from = -1, to = 2, reason = 'r' } }", "not -1", "any class");
    refused_body("return { { from = 1, to = 2, pages = 0, reason = 'r' } }", "pages is a whole number from 1 to 8", "no pages");
    refused_body("return { { from = 1, to = 2, pages = 1 << 62, reason = 'r' } }", "from 1 to 8", "too many pages");
    refused_body("after.classes[1].total_pages = 99 return { { from = 1, to = 2, pages = 8, reason = 'r' },"
                 " { from = 1, to = 2, pages = 2, reason = 'r' } }",
                 "move 2: class 1 has 2 pages, keeps one and cannot give 2", "the last page, by two moves");
    refused_body("local t = {} for i = 1, 9 do t[i] = { from = 1, to = 2, reason = 'r' } end return t", "more than 8 moves",
                 "too many moves");
}

TEST(test_limits) {
    const char *const slow = "took more than 3000000 instructions", *const fat = "needs more than 16 MiB of memory",
               *const long_text = "makes a text of more than 64 KiB";
    refused("while true do end", slow, "a file that never ends");
    refused("return { decide = print, init = function() while true do end end }", slow, "an init that never ends");
    refused_body("while true do pcall(function() while true do end end) end", slow, "one that catches the limit");
    refused_body("local function f() return pcall(f) end while true do f() end", slow, "one that catches it deeply");
    refused_body("local x <close> = setmetatable({}, { __close = function() while true do end end }) while true do end", slow,
                 "one that goes on while it is closed");
    refused_body("table.sort({ 3, 2, 1 }, function() while true do end end)", slow, "one that never compares");
    refused_body("string.rep('', 1 << 60)", slow, "an empty text, endlessly repeated");
    refused_body("string.find(string.rep('a', 5000), string.rep('a-', 20) .. 'b')", slow, "a pattern that tries everything");
    refused_body("string.rep('x', 1 << 30)", slow, "a text that is too long by count");
    refused_body("string.rep('xxxxxxxxxx', 1000000)", long_text, "a text that is too long by bytes");
    refused_body("local s = ('x'):rep(60000) s = s:gsub('x', function() return s end)", long_text, "a text that replaces each letter by what a function gives");
    refused_body("local s = ('x'):rep(60000) s = s .. s", long_text, "two texts");
    refused_body("string.pack('s4s4', ('x'):rep(60000), ('x'):rep(60000))", long_text, "two that are packed");
    refused_body("local t = {} for i = 1, 9000 do t[i] = 1e308 end local f = ('%.99f'):rep(9000)"
                 " while true do pcall(string.format, f, table.unpack(t)) end", slow, "numbers of many digits");
    refused_body("local t = {} table.sort({ 2, 1 }, function() for i = 1, 1e7 do t[i] = {} end end)", fat, "an order that keeps a list");
    refused_body("local function f() return 1 + f() end f()", fat, "a recursion that never ends");

    struct decision d;
    char why[REASON_BYTES];
    struct lua_box_limits hasty = patient;
    hasty.cpu_us = 20 * 1000;
    hasty.instructions = INT64_MAX;
    static const char busy[] = "return { decide = function() while true do end end }";
    ok(!try_source(busy, sizeof busy - 1, "", &hasty, &d, why) && strstr(why, "took more than 0.02 s of processor time"),
       "processor time is limited too");
    struct lua_box_limits tiny = patient;
    tiny.memory_bytes = 4096;
    ok(!try_source(busy, sizeof busy - 1, "", &tiny, &d, why), "a box that has no room for itself says so");
}

/* Each policy is broken in its first call, but goes on, and fails by a limit. */
TEST(test_hostile_policies_reach_a_limit_within_a_call) {
    static const struct { const char *name, *said; } hostile[] = {
        {"sort-long", "processor time"}, {"compare-long", "processor time"}, {"weak", "weak tables"},
        {"weak-later", "16 MiB of memory"}, {"gsub-big", "a text of"}, {"concat-list", "a text of"}, {"concat-one", "a text of"},
        {"doubles", "a text of"}, {"format-many", "a text of"}, {"list-grows", "16 MiB of memory"}, {"keeps", "16 MiB of memory"}};
    struct lua_box_limits quick = patient, keeps = patient;
    quick.cpu_us = 50 * 1000;
    keeps.instructions = 10 * 1000 * 1000;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        struct lua_policy p;
        struct decision d = {.count = 0};
        char why[REASON_BYTES] = "";
        bool by_time = strstr(hostile[i].said, "time") != NULL,
             opened = lua_policy_open(&p, "tests/fixtures/policies", hostile[i].name, by_time ? &quick : &keeps, why);
        for (int n = 0; opened && !d.failed && n < 100; n++) {
            lua_policy_decide(&p, &before, &after, &d);
        }
        ok(strstr(opened ? d.why : why, hostile[i].said) != NULL, "%s: %s", hostile[i].name, opened ? d.why : why);
        if (opened) {
            lua_policy_close(&p);
        }
    }
}

TEST(test_sandbox) {
    static const char *const absent[] = {"load",   "loadfile", "dofile",    "loadstring", "require", "collectgarbage", "warn",
                                         "io",     "os",       "debug",     "package",    "coroutine", "string.dump"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        char body[128], claim[64];
        snprintf(body, sizeof body, "if %s == nil then error('absent', 0) end", absent[i]);
        snprintf(claim, sizeof claim, "there is no %s", absent[i]);
        refused_body(body, "absent", claim);
    }
    refused_body("getmetatable('').__index = nil", "attempt to index a boolean", "the metatable of texts cannot be had");
    refused_body("local o = setmetatable({}, {}) getmetatable(o).__mode = 'k' rawset(getmetatable(o), '__mode', 'k')"
                 " assert(not pcall(setmetatable, o, { __mode = 'k' })) error('fine', 0)", "fine", "a metatable that was set cannot be changed");
    refused_body("local t = setmetatable({}, { __pairs = function() return function() return 1 end end }) for _ in pairs(t) do end",
                 "took more than", "a walk that never ends");
    refused_body("for i = 1, 1000 do print(string.rep('x', 300), {}, nil, i) end error('printed', 0)", "printed", "print is bounded");
    refused_body("_G.error('global', 0)", "global", "_G is the policy's own");
}

TEST(test_settings) {
    static const char source[] = "return { settings = { share = { default = 0.5, min = 0, max = 1 }, count = { default = 3 },"
                                 " text = { default = 'none' } }, decide = function(_, _, s) return nil,"
                                 " ('%g %d %s'):format(s.share, s.count, s.text) end }";
    struct decision d;
    char why[REASON_BYTES];
    ok(try_source(source, sizeof source - 1, "", &patient, &d, why), "settings have defaults");
    is_str(why, "0.5 3 none", "which arrive");
    ok(try_source(source, sizeof source - 1, " share=1 count=16  text=5:10,7:3", &patient, &d, why), "settings are given");
    is_str(why, "1 16 5:10,7:3", "and arrive");
    ok(!try_source(source, sizeof source - 1, " count=0x10", &patient, &d, why), "numbers are decimal");
}

/* A window of two seconds: classes 1 and 2 have 100 hits each; the curve of class 1 falls from its first point to zero. */
TEST(test_windows_and_curves) {
    static const char source[] =
        "return { curves = true, settings = { window_s = { default = 2, min = 0 } }, decide = function(b, a)"
        " return nil, ('%g s, %d points, none of 2: %s, %.2f and %.2f'):format(a.time_s - b.time_s, #a.by_id[1].curve, a.by_id[2].curve,"
        " page_gain(a.by_id[1], -1), page_gain(a.by_id[2], -1)) end }";
    static struct class_curve curves[SLAB_CLASSES_MAX];
    curves[1] = (struct class_curve){.count = 2, .points = {{10 << 20, 0.5}, {11 << 20, 0.6}}};
    struct lua_policy p;
    struct decision d = {.count = 0};
    char why[REASON_BYTES];
    struct snapshot end = made_up(102);
    put("window", source, sizeof source - 1);
    ok(lua_policy_open(&p, dir, "window", &patient, why), "a policy with a window, that wants curves: %s", why);
    ok(!lua_policy_decide(&p, &before, &after, &d) && d.extend && !d.failed, "requests more time");
    ok(p.wants_curves && !lua_policy_is_due(&p, &before, &after) && lua_policy_is_due(&p, &before, &end), "and gets curves when it decides");
    end.time_us -= 50000;
    end.curves = curves;
    d = (struct decision){.count = 0};
    ok(!lua_policy_decide(&p, &before, &end, &d) && !d.extend, "which it does when the window has passed, be it a little early");
    is_str(d.why, "1.95 s, 2 points, none of 2: nil, -5.13 and -1.12", "over the whole window, and page_gain goes by the curves");
    lua_policy_close(&p);
    put("window", "return { decide = function() end }", 34);
    ok(lua_policy_open(&p, dir, "window", &patient, why) && !p.wants_curves, "a policy that requests no curves gets none");
    lua_policy_close(&p);
    forget("window");
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A load that wanders: classes that evict now and then, ages that drift, now and then a pool. */
static void wander(struct snapshot *s, uint64_t *random) {
    s->time_us += 1000000;
    s->pages_free = next_random(random) % 8 == 0;
    for (unsigned i = 1; i <= 3; i++) {
        struct snapshot_class *c = &s->classes[i];
        c->free_chunks = next_random(random) % 4 ? c->free_chunks : next_random(random) % 2 * (next_random(random) % 8000);
        c->evicted += next_random(random) % 3 && c->free_chunks == 0 ? next_random(random) % 100 : 0;
        c->get_hits += next_random(random) % 10000;
        c->cmd_set += next_random(random) % 5000;
        c->age_s = (uint32_t)(next_random(random) % (i * 100));
        c->pages = 1 + (uint32_t)(next_random(random) % 12);
        c->free_chunks = c->free_chunks < c->pages * 1000 ? c->free_chunks : c->pages * 1000;
        c->outofmemory += next_random(random) % 50 == 0;
    }
}

/* The policies of the source tree: the tests run from its top. */
static const char *shipped(void) { return "lua/slate/policies"; }

static void test_ratio_is_mode_1(uint64_t seed) {
    struct lua_policy p;
    struct automove_ratio mode;
    char why[REASON_BYTES] = "";
    unsigned moves = 0, differences = 0;
    if (!ok(lua_policy_open(&p, shipped(), "ratio window=5", &patient, why), "ratio is there: %s", why)) {
        return;
    }
    automove_ratio_init(&mode, 0.8, 5);
    after = before;
    for (int i = 0; i < 2000; i++) {
        wander(&after, &seed);
        struct decision theirs = {.count = 0}, ours = {.count = 0};
        bool any = automove_ratio_decide(&mode, &before, &after, &theirs);
        bool same = lua_policy_decide(&p, &before, &after, &ours) == any && !ours.failed;
        same = same && (!any || (ours.moves[0].from == theirs.moves[0].from && ours.moves[0].to == theirs.moves[0].to));
        moves += any;
        differences += !same;
        before = after;
    }
    ok(differences == 0 && moves > 20, "ratio decides as mode 1 does in 2000 seconds of wandering load, with %u moves", moves);
    automove_ratio_fini(&mode);
    lua_policy_close(&p);
}

/* --- --export --- */

static void print_json(lua_State *L, int at) {
    at = lua_absindex(L, at);
    if (lua_type(L, at) == LUA_TNUMBER && lua_isinteger(L, at)) {
        printf("%lld", (long long)lua_tointeger(L, at));
    } else if (lua_type(L, at) == LUA_TNUMBER) {
        printf("%.6f", lua_tonumber(L, at));
    } else if (lua_rawlen(L, at) > 0) {
        for (lua_Unsigned i = 1; i <= lua_rawlen(L, at); i++) {
            putchar(i == 1 ? '[' : ',');
            lua_rawgeti(L, at, (lua_Integer)i);
            print_json(L, -1);
            lua_pop(L, 1);
        }
        putchar(']');
    } else {
        char mark = '{';
        for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1), mark = ',') {
            printf("%c\"%s\":", mark, lua_tostring(L, -2));
            print_json(L, -1);
        }
        fputs(mark == '{' ? "{}" : "}", stdout);
    }
}

static int print_snapshot(lua_State *L) {
    lua_policy_push_snapshot(L, lua_touserdata(L, LUA_BOX_TOP + 1));
    print_json(L, -1);
    return 0;
}

/* For each policy: a line "snapshot JSON" for every second, and after each but the first a line for every move, "move FROM TO PAGES
 * REASON", or "none WHY". */
static int export(int count, char **policies) {
    char why[REASON_BYTES];
    uint64_t seed = tap_seed();
    for (int k = 0; k < count; k++) {
        struct lua_policy p;
        if (!lua_policy_open(&p, shipped(), policies[k], &patient, why)) {
            fprintf(stderr, "%s: %s\n", policies[k], why);
            return 1;
        }
        printf("policy %s\n", policies[k]);
        before = after = made_up(100);
        for (int i = 0; i < 200; i++) {
            struct decision d = {.count = 0};
            wander(&after, &seed);
            fputs("snapshot ", stdout);
            lua_box_call(&p.box, print_snapshot, &after, why);
            putchar('\n');
            if (i > 0) {
                lua_policy_decide(&p, &before, &after, &d);
                for (unsigned m = 0; m < d.count; m++) {
                    printf("move %u %u %u %s\n", d.moves[m].from, d.moves[m].to, d.moves[m].pages, d.moves[m].reason);
                }
                if (d.count == 0) {
                    printf("%s %s\n", d.extend ? "early" : d.failed ? "failed" : "none", d.why);
                }
            }
            before = d.extend ? before : after;
        }
        lua_policy_close(&p);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--export") == 0) {
        return export(argc - 2, argv + 2);
    }
    uint64_t seed = tap_seed();
    before = made_up(100);
    after = made_up(101);
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        return 1;
    }
    tap_run_tests();
    test_ratio_is_mode_1(seed);
    rmdir(dir);
    return tap_done();
}
