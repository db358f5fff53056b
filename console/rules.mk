# SPDX-License-Identifier: BSD-3-Clause
# slatetop, and what the suites link of it.
CONSOLE_O    := $(patsubst %.c,$B/%.o,$(filter-out console/main.c,$(wildcard console/*.c console/*/*.c console/*/*/*.c)))
CONSOLE_LIBS := $(call libs_of,ncursesw tinfo,-lncursesw -ltinfo) $(call libs_of,jansson,-ljansson) $(LUA_LIBS) -lz -lm
OBJECTS      += $(CONSOLE_O) $B/console/main.o
BINS         += $B/bin/slatetop

$B/console/%.o: console/%.c console/rules.mk
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(LUA_FLAGS) -Iconsole -I$B/gen/console -c -o $@ $<
$B/bin/slatetop: $B/console/main.o $(CONSOLE_O)
	$Qmkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CONSOLE_LIBS)
$B/console.a: $(CONSOLE_O)
	@rm -f $@ && $(AR) qcs $@ $^

# slatetop has the explanations in it, and the modules that it judges and acts by, which slatectl runs too. They are
# packed and without lines of comment, though with the numbers of all others: a sixth of the text, of which slatetop
# would keep all in memory beside what Lua makes of it. A clock is in C.
EXPLAIN_INC := $B/gen/console/draw/explain_text.inc
$(EXPLAIN_INC): man/explain.txt
	@mkdir -p $(@D) && sed '/^#/d;s/[\\"]/\\&/g;s/.*/"&\\n"/' $< >$@
$B/console/draw/explain.o $B/console/bridge/lua_explain.o: $(EXPLAIN_INC)
BRAIN_LUA := $(call lua_modules,console,base/clock console/cells facts/explain_text)
BRAIN_INC := $B/gen/console/brain/modules.inc
$(BRAIN_INC): $(BRAIN_LUA:%=lua/slate/%.lua) console/rules.mk
	@mkdir -p $(@D) && for name in $(BRAIN_LUA); do echo "MODULE(\"slate.$$name\"," | tr / . && \
	    sed 's/^ *--.*//' lua/slate/$$name.lua | gzip -9nc | od -An -v -to1 | sed 's/ /\\/g;s/.*/"&"/' && \
	    echo ')'; done >$@
$B/console/brain/lua_state.o: $(BRAIN_INC)
