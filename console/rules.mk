# SPDX-License-Identifier: BSD-3-Clause
# slatetop, and what the suites link of it.
CONSOLE_O    := $(patsubst %.c,$B/%.o,$(filter-out console/main.c console/start.c,$(wildcard console/*.c console/*/*.c console/*/*/*.c)))
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
CORE_GIVEN := base/clock facts/explain_text console/build console/cells console/files console/link console/term
BRAIN_LUA := $(call lua_modules,console,$(CORE_GIVEN))
BRAIN_INC := $B/gen/console/brain/modules.inc
$(BRAIN_INC): $(BRAIN_LUA:%=lua/slate/%.lua) console/rules.mk
	@mkdir -p $(@D) && for name in $(BRAIN_LUA); do echo "MODULE(\"slate.$$name\"," | tr / . && \
	    sed 's/^ *--.*//' lua/slate/$$name.lua | gzip -9nc | od -An -v -to1 | sed 's/ /\\/g;s/.*/"&"/' && \
	    echo ')'; done >$@
$B/console/brain/lua_state.o: $(BRAIN_INC)
CORE_INC := $B/gen/console/bridge/modules.inc
$(CORE_INC): $(BRAIN_LUA:%=lua/slate/%.lua) console/rules.mk
	@mkdir -p $(@D) && for name in $(BRAIN_LUA); do echo "MODULE(\"slate.$$name\"," | tr / . && \
	    $(LUA_PROGRAM) -e "io.write(string.dump(assert(loadfile('lua/slate/$$name.lua'))))" | \
	    gzip -9nc | od -An -v -to1 | sed 's/ /\\/g;s/.*/"&"/' && echo ')'; done >$@
$B/console/bridge/lua_core.o: $(CORE_INC)
CORE_O := $(patsubst %.c,$B/%.o,console/start.c $(wildcard console/bridge/*.c) console/link/address.c console/link/client.c \
          console/link/client_tls.c console/draw/cells.c console/draw/term.c console/facts/poll_clock.c console/facts/words.c)
$B/bin/slatetop-lua: $(CORE_O)
	$Qmkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CONSOLE_LIBS)
$B/world/slatetop-lua: tests/console/terminal.c tests/unit/console/cells_row.h $(CORE_O)
	$Qmkdir -p $(@D) && $(CC) $(FLAGS_ALONE) $(CFLAGS) $(QUICK) -Iconsole $(LDFLAGS) $(QUICK_LINK) -o $@ $< \
	    $(filter-out %.c %.h %/draw/term.o %/facts/poll_clock.o,$^) $(CONSOLE_LIBS)
