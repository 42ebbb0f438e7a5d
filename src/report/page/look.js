(function () {
  "use strict";
  const LEFT = 50, RIGHT = 408, TOP = 10, BOTTOM = 196, WIDTH = 420, HEIGHT = 230, SHOWN = 12;  // as in chart.cpp
  const numbers = JSON.parse(document.getElementById("numbers").textContent);
  const figures = Array.from(document.querySelectorAll("figure.chart"));
  const hidden = new Set();
  let axis = numbers.axes[0], view = null;  // view: the positions to which the charts are zoomed

  const finite = (x) => x !== null && x !== undefined && isFinite(x);
  function svgElement(name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return element;
  }
  function brief(value, digits) {
    for (const [unit, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
      if (Math.abs(value) >= 1e4 && Math.abs(value) >= unit) return +(value / unit).toPrecision(digits) + prefix;
    return String(+value.toPrecision(digits));
  }
  function valueText(value, kind) {
    if (!finite(value)) return "-";
    if (kind === "seconds") return value < 1 ? +(value * 1e3).toPrecision(4) + " ms" : +value.toPrecision(4) + " s";
    return kind === "count" ? brief(value, 4) : String(+value.toPrecision(4));
  }
  function roundMarks(low, high, count) {
    const rough = (high - low) / count, power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = power * ([1, 2, 5].find((factor) => factor * power >= rough * 0.999) || 10);
    const marks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) marks.push(k * step);
    return marks;
  }

  const xScale = (chart) => {
    if (view) return view;
    let low = Infinity, high = -Infinity;
    for (const s of chart.series)
      axis.positions[s.group].forEach((x, k) => {
        if (finite(x) && finite(s.mean[k])) { low = Math.min(low, x); high = Math.max(high, x); }
      });
    if (low > high) return { low: 0, high: 1 };
    return high > low ? { low, high } : { low: low - 1, high: high + 1 };
  };
  const xOf = (scale, x) => LEFT + (x - scale.low) / (scale.high - scale.low) * (RIGHT - LEFT);
  // Returns the chart's scale, or that of the visible values if the charts are zoomed.
  function yScale(chart) {
    if (!view) return chart;
    let low = Infinity, high = -Infinity;
    for (const series of chart.series)
      axis.positions[series.group].forEach((x, k) => {
        if (!finite(x) || x < view.low || x > view.high || hidden.has(series.group)) return;
        for (const y of [series.mean[k], series.low && series.low[k], series.high && series.high[k]])
          if (finite(y)) { low = Math.min(low, y); high = Math.max(high, y); }
      });
    if (low > high) return chart;
    if (chart.log) return { log: true, low: low / 1.1, high: high * 1.1 };
    const room = high > low ? 0.04 * (high - low) : low !== 0 ? 0.1 * Math.abs(low) : 1;
    return { log: false, low: low - room, high: high + room };
  }
  function yOf(scale, y) {
    const share = scale.log ? Math.log(y / scale.low) / Math.log(scale.high / scale.low)
                            : (y - scale.low) / (scale.high - scale.low);
    return BOTTOM - share * (BOTTOM - TOP);
  }
  function yMarks(scale) {
    if (!scale.log) return roundMarks(scale.low, scale.high, 6);
    const first = Math.ceil(Math.log10(scale.low)), last = Math.floor(Math.log10(scale.high)), marks = [];
    for (let power = first; power <= last; power += Math.max(1, Math.ceil((last - first) / 6)))
      marks.push(Math.pow(10, power));
    return marks;
  }
  function pieces(at, series) {
    const all = [];
    for (let k = 0; k < at.length; ++k) {
      if (!finite(at[k]) || !finite(series.mean[k])) continue;
      if (all.length && all[all.length - 1][1] === k) all[all.length - 1][1] = k + 1;
      else all.push([k, k + 1]);
    }
    return all;
  }
  function paths(series, scale, values) {
    const at = axis.positions[series.group];
    const point = (k, y) => xOf(scale, at[k]).toFixed(1) + "," + yOf(values, y).toFixed(1);
    let area = "", line = "";
    for (const [begin, end] of pieces(at, series)) {
      for (let k = begin; k < end; ++k)
        line += (k === begin ? "M" : "L") + point(k, series.mean[k]) + (k === begin ? "h0" : "");
      if (!series.low) continue;
      for (let k = begin; k < end; ++k) area += (k === begin ? "M" : "L") + point(k, series.high[k]);
      for (let k = end - 1; k >= begin; --k) area += "L" + point(k, series.low[k]);
      area += "Z";
    }
    return (series.low ? [area] : []).concat(series.filled ? [] : [line]);
  }
  function redraw(figure) {
    const chart = numbers.charts[figure.dataset.chart], scale = xScale(chart), marks = figure.querySelector("g.x");
    const values = yScale(chart), drawn = chart.series.flatMap((series) => paths(series, scale, values));
    figure.querySelectorAll("g.curves path").forEach((path, k) => path.setAttribute("d", drawn[k]));
    const heights = figure.querySelector("g.y");
    heights.replaceChildren();
    for (const mark of yMarks(values)) {
      heights.append(svgElement("path", { d: "M" + LEFT + "," + yOf(values, mark).toFixed(1) + "H" + RIGHT }));
      heights.append(svgElement("text", { x: LEFT - 5, y: (yOf(values, mark) + 4).toFixed(1) }, brief(mark, 4)));
    }
    marks.replaceChildren();
    for (const mark of roundMarks(scale.low, scale.high, 6))
      marks.append(svgElement("text", { x: xOf(scale, mark), y: BOTTOM + 15 }, brief(mark, 4)));
    marks.append(svgElement("text", { class: "label", x: (LEFT + RIGHT) / 2, y: HEIGHT - 5 }, axis.label));
  }

  const box = document.createElement("div");
  box.id = "values";
  box.hidden = true;
  document.body.append(box);
  function hide() {
    box.hidden = true;
    for (const line of document.querySelectorAll(".cursor")) line.remove();
  }
  function nearestPoint(at, series, x) {
    let best = -1;
    for (let k = 0; k < at.length; ++k)
      if (finite(at[k]) && finite(series.mean[k]) && (!view || (at[k] >= view.low && at[k] <= view.high)) &&
          !(best >= 0 && Math.abs(at[k] - x) >= Math.abs(at[best] - x)))
        best = k;
    return best;
  }
  function line(color, text) {
    const row = document.createElement("div");
    if (color !== null) {
      const swatch = document.createElement("span");
      swatch.className = "swatch c" + color;
      row.append(swatch);
    }
    row.append(text);
    return row;
  }
  function show(figure, event) {
    hide();
    const chart = numbers.charts[figure.dataset.chart], svg = figure.querySelector("svg");
    const frame = svg.getBoundingClientRect(), scale = xScale(chart);
    const px = (event.clientX - frame.left) * WIDTH / frame.width;
    const py = (event.clientY - frame.top) * HEIGHT / frame.height;
    if (px < LEFT - 8 || px > RIGHT + 8) return;
    const x = scale.low + (px - LEFT) / (RIGHT - LEFT) * (scale.high - scale.low);
    const values = yScale(chart);
    let rows = [], shown = null;
    for (const series of chart.series) {
      const at = axis.positions[series.group], k = hidden.has(series.group) ? -1 : nearestPoint(at, series, x);
      if (k < 0) continue;
      if (shown === null || Math.abs(at[k] - x) < Math.abs(shown - x)) shown = at[k];
      let text = (series.name || numbers.groups[series.group]) + ": " + valueText(series.mean[k], chart.hover);
      if (series.low && !series.filled && series.low[k] < series.high[k])
        text += " (" + valueText(series.low[k], chart.hover) + " to " + valueText(series.high[k], chart.hover) + ")";
      rows.push({ color: series.color, text, far: series.filled ? 0 : Math.abs(yOf(values, series.mean[k]) - py) });
    }
    if (!rows.length) return;
    const left = Math.max(0, rows.length - SHOWN);
    if (left) rows = rows.sort((a, b) => a.far - b.far).slice(0, SHOWN);
    svg.append(svgElement("path", { class: "cursor", d: "M" + xOf(scale, shown) + "," + TOP + "V" + BOTTOM }));
    const lines = rows.map((row) => line(row.color, row.text));
    box.replaceChildren(line(null, axis.label + ": " + brief(shown, 5)), ...lines);
    if (left) box.append(line(null, "and " + left + " more"));
    box.hidden = false;
    const wide = document.documentElement.clientWidth;
    box.style.left = Math.max(4, Math.min(event.pageX + 14, wide - box.offsetWidth - 8)) + "px";
    box.style.top = event.pageY + 14 + "px";
  }
  for (const figure of figures) {
    const svg = figure.querySelector("svg");
    for (const kind of ["pointermove", "pointerdown"]) svg.addEventListener(kind, (event) => show(figure, event));
    svg.addEventListener("pointerleave", hide);
    zoomable(figure, svg);
  }

  // Dragging across a chart zooms all charts to these positions; a double click shows everything again.
  function zoomable(figure, svg) {
    let from = null, mark = null;
    const xAt = (event) => {
      const frame = svg.getBoundingClientRect();
      return Math.min(RIGHT, Math.max(LEFT, (event.clientX - frame.left) * WIDTH / frame.width));
    };
    const zoom = (to) => {
      view = to;
      hide();
      figures.forEach(redraw);
    };
    const stop = () => {
      if (mark) mark.remove();
      from = mark = null;
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "touch" && event.button === 0) from = xAt(event);
    });
    svg.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const x = xAt(event);
      if (mark) mark.remove();
      mark = svgElement("rect", { class: "zoom", x: Math.min(x, from), y: TOP, width: Math.abs(x - from),
                                  height: BOTTOM - TOP });
      svg.append(mark);
    });
    svg.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const ends = [from, xAt(event)].sort((a, b) => a - b);
      const scale = xScale(numbers.charts[figure.dataset.chart]);
      stop();
      if (ends[1] - ends[0] < 8) return;
      const at = (x) => scale.low + (x - LEFT) / (RIGHT - LEFT) * (scale.high - scale.low);
      zoom({ low: at(ends[0]), high: at(ends[1]) });
    });
    svg.addEventListener("pointerleave", stop);
    svg.addEventListener("dblclick", () => { if (view) zoom(null); });
  }

  const bar = document.querySelector("nav.axes");
  if (bar && numbers.axes.length > 1) {
    for (const choice of numbers.axes) {
      const button = document.createElement("button");
      button.textContent = choice.label;
      button.setAttribute("aria-pressed", String(choice === axis));
      button.addEventListener("click", () => {
        axis = choice;
        view = null;
        for (const other of bar.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
        hide();
        figures.forEach(redraw);
      });
      bar.append(button);
    }
    const hint = document.createElement("small");
    hint.textContent = "Drag across a chart to zoom, double-click to see everything, click a colour to hide its curves.";
    bar.append(hint);
    bar.hidden = false;
  }
  for (const mark of document.querySelectorAll("span.swatch[data-group]")) {
    const group = +mark.dataset.group, button = document.createElement("button");
    button.className = mark.className;
    button.title = "hide or show these curves";
    button.setAttribute("aria-label", "hide or show the curves of " + numbers.groups[group]);
    button.addEventListener("click", () => {
      const off = button.classList.toggle("off");
      if (off) hidden.add(group);
      else hidden.delete(group);
      for (const path of document.querySelectorAll("g.curves .g" + group)) path.classList.toggle("off-curve", off);
      if (view) figures.forEach(redraw);
    });
    mark.replaceWith(button);
  }
})();
