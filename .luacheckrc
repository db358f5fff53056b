std = "lua54"
max_line_length = 120
files["tests/"] = { std = "+busted" }
files["lua/slate/policies/"] = { read_globals = { "miss_curve" } }
