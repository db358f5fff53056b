-- SPDX-License-Identifier: BSD-3-Clause
--- The script of HTML pages: the colour button, and values under the pointer, a finger or the arrow keys. It inserts
--- text only as text, never as HTML. Without the script, a page shows all but these values.
local M = {}

local SCRIPT <const> = [[
"use strict";
(function () {
  var root = document.documentElement, tip = document.getElementById("tip");
  var dark = window.matchMedia("(prefers-color-scheme: dark)"), chosen = null;

  function show_theme() {
    root.setAttribute("data-theme", chosen || (dark.matches ? "dark" : "light"));
  }
  show_theme();
  dark.addEventListener("change", show_theme);
  var button = document.getElementById("theme");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      chosen = root.getAttribute("data-theme") === "dark" ? "light" : "dark";
      show_theme();
    });
  }

  function place(x, y) {
    var left = x + 14, box;
    tip.hidden = false;
    box = tip.getBoundingClientRect();
    if (left + box.width > window.innerWidth - 6) left = Math.max(6, x - 14 - box.width);
    tip.style.transform = "translate(" + left + "px," +
      Math.max(6, Math.min(y + 12, window.innerHeight - box.height - 6)) + "px)";
  }
  function hide() {
    tip.hidden = true;
    Array.prototype.forEach.call(document.querySelectorAll(".cross"), function (one) { one.remove(); });
  }
  function line(text, colour) {
    var row = document.createElement("div"), mark;
    if (colour !== undefined) {
      mark = document.createElement("i");
      mark.className = "c" + colour;
      row.appendChild(mark);
    }
    row.appendChild(document.createTextNode(text));
    tip.appendChild(row);
  }

  /* A number in at most four figures, in thousands from 10,000 on. */
  function number(value) {
    var steps = ["", "K", "M", "G", "T"], i = 0;
    while (Math.abs(value) >= 10000 && i < 4) { value /= 1000; i++; }
    return String(Number(value.toPrecision(4))) + steps[i];
  }
  /* Bytes, as the ticks of an axis have them. */
  function bytes(value) {
    var steps = ["B", "KiB", "MiB", "GiB", "TiB"], i = 0;
    while (value >= 1023.5 && i < 4) { value /= 1024; i++; }
    return String(Number(value.toFixed(value < 999.95 ? 1 : 0))) + " " + steps[i];
  }
  /* What stands at a position from 0 to 1: the last point before it, or for curves of points the nearest. */
  function at(xs, x, nearest) {
    var low = 0, high = xs.length - 1, middle;
    while (low < high) {
      middle = (low + high + 1) >> 1;
      if (xs[middle] <= x + 1e-9) low = middle; else high = middle - 1;
    }
    return nearest && low + 1 < xs.length && xs[low + 1] - x < x - xs[low] ? low + 1 : low;
  }
  function heading(data, x) {
    if (data.start_s !== undefined) {
      return new Date((data.start_s + x * data.span_s) * 1000).toISOString().substr(11, 8) + " UTC";
    }
    var value = data.log ? data.min * Math.pow(data.max / data.min, x) : data.min + x * (data.max - data.min);
    return data.label + ": " + (data.in_bytes ? bytes : number)(value);
  }
  function tell(plot, x, pointer_x, pointer_y) {
    var data = plot.slate_values, cross = document.createElement("div"), first = data.series[0], sum = 0;
    if (first) x = first.x[at(first.x, x, data.nearest)];
    hide();
    tip.textContent = "";
    line(heading(data, x));
    data.series.forEach(function (one) {
      var i = at(one.x, x, data.nearest), value = one.y[i];
      if (value !== null && !(data.sum && value === 0)) {
        line((one.label ? one.label + ": " : "") + number(value) + (data.unit ? " " + data.unit : ""), one.colour);
      }
      sum += value || 0;
    });
    if (data.sum && data.series.length > 2) line("in all: " + number(sum) + (data.unit ? " " + data.unit : ""));
    cross.className = "cross";
    cross.style.left = x * 100 + "%";
    plot.appendChild(cross);
    place(pointer_x, pointer_y);
  }
  Array.prototype.forEach.call(document.querySelectorAll(".plot"), function (plot) {
    var source = plot.querySelector("script.values"), x = 0;
    if (!source) return;
    plot.slate_values = JSON.parse(source.textContent);
    function follow(event) {
      var box = plot.getBoundingClientRect();
      x = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
      tell(plot, x, event.clientX, event.clientY);
    }
    plot.addEventListener("pointermove", follow);
    plot.addEventListener("pointerdown", follow);
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", function (event) {
      var step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key], box = plot.getBoundingClientRect();
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      x = Math.max(0, Math.min(1, x + step));
      tell(plot, x, box.left + x * box.width, box.top + 20);
    });
  });
  /* Single marks carry their words. */
  function words(event) {
    var mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    if (!mark) {
      if (!event.target.closest || !event.target.closest(".plot")) hide();
      return;
    }
    hide();
    tip.textContent = mark.getAttribute("data-tip");
    place(event.clientX, event.clientY);
  }
  document.addEventListener("pointermove", words);
  document.addEventListener("pointerdown", words);
}());
]]

--- The script, to stand between its tags.
function M.text() return SCRIPT end

return M
