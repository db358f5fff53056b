# SPDX-License-Identifier: BSD-3-Clause
# slatetop, and what the suites link of it.
CONSOLE_O    := $(patsubst %.c,$B/%.o,$(wildcard console/*/*.c))
CONSOLE_LIBS := $(call libs_of,ncursesw tinfo,-lncursesw -ltinfo) $(call libs_of,jansson,-ljansson) $(LUA_LIBS) -lz -lm
OBJECTS      += $(CONSOLE_O) $B/console/main.o
BINS         += $B/bin/slatetop

$B/console/%.o: console/%.c console/rules.mk
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(LUA_FLAGS) -Iconsole -I$B/gen/console -c -o $@ $<
$B/bin/slatetop: $B/console/main.o $(CONSOLE_O)
	$Qmkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CONSOLE_LIBS)
$B/console.a: $(CONSOLE_O)
	@rm -f $@ && $(AR) qcs $@ $^

# slatetop has in it the explanations, and its program: the modules of lua/slate that slate.console.main needs, compiled and
# packed. Those of CONSOLE_GIVEN are in C.
EXPLAIN_INC := $B/gen/console/bridge/explain_text.inc
$(EXPLAIN_INC): man/explain.txt
	@mkdir -p $(@D) && sed '/^#/d;s/[\\"]/\\&/g;s/.*/"&\\n"/' $< >$@
$B/console/bridge/lua_explain.o: $(EXPLAIN_INC)
CONSOLE_GIVEN := base/clock facts/explain_text console/build console/cells console/files console/link console/term
CONSOLE_LUA := $(call lua_modules,console,$(CONSOLE_GIVEN))
MODULES_INC := $B/gen/console/bridge/modules.inc
$(MODULES_INC): $(CONSOLE_LUA:%=lua/slate/%.lua) console/rules.mk scripts/lua-modules
	@mkdir -p $(@D) && for name in $(CONSOLE_LUA); do echo "MODULE(\"slate.$$name\"," | tr / . && \
	    $(LUA_PROGRAM) -e "io.write(string.dump(assert(loadfile('lua/slate/$$name.lua'))))" | \
	    gzip -9nc | od -An -v -to1 | sed 's/ /\\/g;s/.*/"&"/' && echo ')'; done >$@
$B/console/bridge/lua_core.o: $(MODULES_INC)
