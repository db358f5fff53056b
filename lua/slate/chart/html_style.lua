-- SPDX-License-Identifier: BSD-3-Clause
--- The style of HTML pages: light or dark by the system's setting or the page's button, for widths from 320 pixels. The
-- ten colours of series are those of slate.chart.gnuplot; in the dark style the darkest of them are lighter.
local DARK <const> = [[
  color-scheme: dark; --ground: #14171b; --raised: #1e2329; --ink: #e6e9ed; --faint: #9aa4b0;
  --line: #343b44; --bad: #ff8a80; --warn: #ffc766; --note: #8ec5f5; --good: #7fd6a2; --bad-ground: #3a1c1a;
  --warn-ground: #362a12; --note-ground: #17283a; --s1: #4aa3df; --s2: #f0b030; --s3: #2fbf95; --s4: #f07830;
  --s5: #8fd0f5; --s6: #f0e442; --s7: #e09ac4; --s8: #6f9fc0; --s9: #c08a4a; --s10: #a5a5a5; --grey: #4a525c; ]]

local M = {}

local STYLE <const> = ([[
:root { color-scheme: light; --ground: #ffffff; --raised: #f5f6f8; --ink: #1b1f24; --faint: #5b6470; --line: #d9dde3;
  --bad: #b3261e; --warn: #8a5a00; --note: #2b5c8a; --good: #1d7a46; --bad-ground: #fdecea; --warn-ground: #fff4dc;
  --note-ground: #eaf2f9; --s1: #0072b2; --s2: #e69f00; --s3: #009e73; --s4: #d55e00; --s5: #56b4e9; --s6: #d9c800;
  --s7: #cc79a7; --s8: #004466; --s9: #8c510a; --s10: #8a8a8a; --grey: #cfd3d8; }
:root[data-theme="dark"] { @DARK@}
@media (prefers-color-scheme: dark) { :root:not([data-theme]) { @DARK@} }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1rem clamp(0.7rem, 2.5vw, 2.2rem) 4rem; max-width: 110rem; background: var(--ground);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
h1 { font-size: 1.55rem; line-height: 1.25; margin: 0 0 0.2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.6rem; overflow-wrap: anywhere; }
section.server > h2:first-child { border-top: 1px solid var(--line); padding-top: 1.4rem; font-size: 1.35rem; }
p { margin: 0.4rem 0; max-width: 80ch; }
code { font: 0.9em ui-monospace, "Liberation Mono", monospace; background: var(--raised); padding: 0.1em 0.3em;
  border-radius: 3px; overflow-wrap: anywhere; }
a { color: var(--note); }
.faint { color: var(--faint); }
header { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0.6rem 1.5rem; align-items: start; }
header > div { flex: 1 1 20rem; min-width: 0; }
button { font: inherit; font-size: 0.9rem; color: var(--ink); background: var(--raised); padding: 0.25rem 0.8rem;
  border: 1px solid var(--line); border-radius: 6px; cursor: pointer; }
.verdict { font-size: 1.1rem; border-left: 5px solid var(--good); background: var(--raised); padding: 0.6rem 1rem;
  margin: 1rem 0; max-width: none; border-radius: 0 6px 6px 0; }
.verdict.critical { border-color: var(--bad); background: var(--bad-ground); }
.verdict.warning { border-color: var(--warn); background: var(--warn-ground); }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 0.6rem; margin: 1rem 0; }
.tiles div { background: var(--raised); border-radius: 6px; padding: 0.5rem 0.8rem; }
.tiles b { display: block; font-size: 1.35rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tiles span { display: block; font-size: 0.85rem; color: var(--faint); }
ul.findings, ol.changes { list-style: none; margin: 0.6rem 0; padding: 0; }
ul.findings li, ol.changes li { border-left: 4px solid var(--note); background: var(--raised); margin: 0 0 0.6rem;
  padding: 0.5rem 0.9rem; border-radius: 0 6px 6px 0; overflow-wrap: anywhere; }
ul.findings li.critical { border-color: var(--bad); }
ul.findings li.warning { border-color: var(--warn); }
ul.findings b.critical { color: var(--bad); } ul.findings b.warning { color: var(--warn); }
ul.findings b.note { color: var(--note); }
.when { color: var(--faint); font-size: 0.88rem; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 0.25rem 0.7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--faint); vertical-align: bottom; }
th.left, td.left { text-align: left; }
td.text { white-space: normal; text-align: left; min-width: 16rem; overflow-wrap: anywhere; }
td.name { overflow-wrap: anywhere; white-space: normal; text-align: left; min-width: 9.5rem; max-width: 24rem; }
td.state { white-space: normal; min-width: 6.5rem; }
td.share { min-width: 8.5rem; text-align: left; }
td.share i { display: inline-block; height: 0.7em; border-radius: 2px; margin-right: 0.4em; max-width: 5rem; }
.bad { color: var(--bad); } .warn { color: var(--warn); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 36rem), 1fr)); gap: 1.6rem 2rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: 0.4rem; overflow-wrap: anywhere; }
figure p { font-size: 0.85rem; color: var(--faint); max-width: none; overflow-wrap: anywhere; }
.panels { display: grid; gap: 0.9rem; }
.panels.two { grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); }
.panel h3 { font-size: 0.9rem; font-weight: 600; margin: 0 0 0.2rem; overflow-wrap: anywhere; }
.unit { font-size: 0.8rem; color: var(--faint); }
.plot { position: relative; height: 15rem; margin: 0.9rem 0.8rem 1.5rem 3.3rem; border-left: 1px solid var(--faint);
  border-bottom: 1px solid var(--faint); outline-offset: 4px; }
.plot.low { height: 8rem; }
.plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: hidden; }
.plot .y, .plot .x { position: absolute; font-size: 0.75rem; color: var(--faint); white-space: nowrap; line-height: 1;
  font-variant-numeric: tabular-nums; pointer-events: none; }
.plot .y { right: calc(100% + 0.35rem); transform: translateY(50%); }
.plot .x { top: calc(100% + 0.4rem); transform: translateX(-50%); }
.plot .mark { position: absolute; top: 0; bottom: 0; border-left: 1px dashed var(--ink); pointer-events: none; }
.plot .mark span { position: absolute; bottom: 100%; left: -0.3rem; font-size: 0.75rem; line-height: 1.1;
  white-space: nowrap; color: var(--ink); }
.plot .mark.late span { left: auto; right: -0.3rem; }
.plot .limit { position: absolute; left: 0; right: 0; border-top: 2px dotted var(--ink); pointer-events: none; }
.plot .limit span { position: absolute; right: 0.2rem; bottom: 0.15rem; font-size: 0.75rem; line-height: 1.2;
  padding: 0 0.3rem; border-radius: 3px; background: var(--ground); } /* areas may lie behind it */
.panels.two .plot .x.odd { display: none; }
.cross { position: absolute; top: 0; bottom: 0; width: 1px; background: var(--ink); pointer-events: none; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0.1rem 0.9rem; margin: 0.2rem 0 0; padding: 0;
  font-size: 0.82rem; }
.legend i { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px; margin-right: 0.35em; }
#tip { position: fixed; z-index: 9; pointer-events: none; background: var(--ink); color: var(--ground); padding: 0.4rem
  0.6rem; border-radius: 5px; font-size: 0.8rem; line-height: 1.4; max-width: min(22rem, 90vw); top: 0; left: 0;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; white-space: pre-line; }
#tip i { display: inline-block; width: 0.7em; height: 0.7em; margin-right: 0.4em; border-radius: 2px; }
.c1 { fill: var(--s1); background: var(--s1); } .c2 { fill: var(--s2); background: var(--s2); }
.c3 { fill: var(--s3); background: var(--s3); } .c4 { fill: var(--s4); background: var(--s4); }
.c5 { fill: var(--s5); background: var(--s5); } .c6 { fill: var(--s6); background: var(--s6); }
.c7 { fill: var(--s7); background: var(--s7); } .c8 { fill: var(--s8); background: var(--s8); }
.c9 { fill: var(--s9); background: var(--s9); } .c10 { fill: var(--s10); background: var(--s10); }
.c0 { fill: var(--grey); background: var(--grey); }
.l1 { stroke: var(--s1); } .l2 { stroke: var(--s2); } .l3 { stroke: var(--s3); } .l4 { stroke: var(--s4); }
.l5 { stroke: var(--s5); } .l6 { stroke: var(--s6); } .l7 { stroke: var(--s7); } .l8 { stroke: var(--s8); }
.l9 { stroke: var(--s9); } .l10 { stroke: var(--s10); } .l0 { stroke: var(--grey); }
path.line { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
path.shade { opacity: 0.2; }
path.line.bold { stroke-width: 4; }
path.dots { fill: none; stroke-width: 7; stroke-linecap: round; vector-effect: non-scaling-stroke; }
path.grid { fill: none; stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
path.edge { fill: none; stroke: var(--s4); stroke-width: 1; vector-effect: non-scaling-stroke; }
details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
@media (max-width: 62rem) { th, td { padding: 0.25rem 0.45rem; } th.narrow { white-space: normal; } }
@media (max-width: 40rem) { .plot .x.odd { display: none; } .plot { margin-left: 2.9rem; }
  body { font-size: 15px; } th, td { padding: 0.25rem 0.4rem; } td.share { min-width: 5.6rem; }
  td.name { min-width: 6rem; } td.share i { max-width: 1.9rem; }
  .tiles { grid-template-columns: repeat(auto-fill, minmax(7.5rem, 1fr)); } }
@media print { #theme, #tip { display: none; } figure, ul.findings li { break-inside: avoid; } }
]]):gsub("@DARK@", DARK)

--- The style sheet, to stand between its tags.
function M.text() return STYLE end

return M
