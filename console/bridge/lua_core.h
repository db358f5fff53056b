/* The Lua 5.4 in which slatetop runs: the modules of lua/slate, built into the program, and modules
 * in C for all that touches the machine (bridge/lua_*.h). Code in Lua gets no other access: no
 * library of files, processes or the loader. One thread. */
#ifndef CONSOLE_BRIDGE_LUA_CORE_H
#define CONSOLE_BRIDGE_LUA_CORE_H

/* Calls function(words) of a module with the words of a command line; returns its result, an exit
 * code. An error of Lua ends the program's terminal, and is reported on standard error:
 * failure_code is returned. */
int lua_core_run(const char *module, const char *function, int count, char **words,
                 int failure_code);
#endif
