// Draws the figures of the report from the data in the page and follows its controls.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const scheme = byId("scheme");
  const slider = byId("rate");
  const checked = (name) => new Set(
    [...document.querySelectorAll(`input[name="${name}"]:checked`)].map((box) => box.value));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const touch = window.matchMedia("(pointer: coarse)");
  const wide = window.matchMedia("(min-width: 40rem)");
  let printing = false;

  // ---- numbers -----------------------------------------------------------------------------
  // Upper bounds are rounded up, so that what is printed is still one.
  const up = (value, digits = 3) => {
    if (!(value > 0) || !Number.isFinite(value)) return String(value);
    const unit = 10 ** (Math.floor(Math.log10(value)) + 1 - digits);
    const rounded = Math.ceil(value / unit - 1e-9) * unit;
    const enough = Number(rounded.toPrecision(digits)) < value ? rounded + unit : rounded;
    const text = enough.toPrecision(digits);
    return text.includes("e") ? String(Number(text)) : text;
  };
  const short = (value) => (value < 1e5 ? String(value) : value.toExponential().replace("+", ""));
  const plain = (value) => Number(value.toPrecision(3)).toString();

  // ---- style -------------------------------------------------------------------------------
  const theme = () => {
    const night = dark.matches && !printing;
    return {
      ink: night ? "#e8e8e8" : "#222222",
      grid: night ? "#3c434a" : "#d9d9d9",
      hover: night ? "#1e2226" : "#ffffff",
      colour: (i) => {
        const found = data.palette[i % data.palette.length];
        return night && found === "#000000" ? "#e8e8e8" : found;
      },
    };
  };
  const dashes = ["solid", "dash", "dashdot", "dot"];
  const kindDash = {proven: "solid", verified: "dash", confidence: "dashdot",
    asymptotic: "dot", conjectured: "dot"};
  const axis = (title, extra) => {
    const {ink, grid} = theme();
    return {title: {text: title, standoff: 8}, color: ink, gridcolor: grid, linecolor: ink,
      zeroline: false, automargin: true, exponentformat: "power", ...extra};
  };
  // A logarithmic axis around the values, with plain numbers at a handful of places.
  const log = (title, values) => {
    const drawn = values.filter((value) => value > 0);
    const low = Math.min(...drawn) / 1.12;
    const high = Math.max(...drawn) * 1.12;
    const steps = high < 10 * low ? [1, 1.5, 2, 3, 5, 7] : high < 2000 * low ? [1, 2, 5] : [1];
    const tickvals = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      steps.forEach((step) => tickvals.push(Number((step * 10 ** power).toPrecision(3))));
    }
    return axis(title, {type: "log", range: [Math.log10(low), Math.log10(high)], tickvals,
      ticktext: tickvals.map(short)});
  };
  const powers = (title, low) => axis(title, {type: "log", range: [low, 0.02], tickmode: "linear",
    dtick: wide.matches ? 1 : 2, tick0: 0});
  const layout = (x, y, extra) => {
    const {ink, hover} = theme();
    return {xaxis: x, yaxis: y, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: {family: "system-ui, sans-serif", size: 13, color: ink},
      margin: {l: 8, r: 12, t: 8, b: 8}, hoverlabel: {bgcolor: hover, font: {color: ink}},
      showlegend: false, dragmode: touch.matches ? false : "zoom", ...extra};
  };
  const config = {responsive: true, displaylogo: false, displayModeBar: false};
  const draw = (id, traces, form) => Plotly.react(byId(id), traces, form, config);
  const vertical = (x) => ({type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1,
    line: {color: theme().ink, width: 1}});
  // The toggles are the legend: each has a piece of its line.
  const border = {solid: "solid", dash: "dashed", dashdot: "dashed", dot: "dotted"};
  const swatch = (id, colour, dash) => {
    byId(id).style.borderTop = `4px ${border[dash]} ${colour}`;
  };
  const horizontal = (y) => ({type: "line", y0: y, y1: y, xref: "paper", x0: 0, x1: 1,
    line: {color: theme().ink, width: 1}});

  // ---- figures -----------------------------------------------------------------------------
  const chosen = () => data.families[Number(scheme.value)];

  function drawErrors() {
    const shown = checked("family");
    const {colour} = theme();
    const traces = [];
    data.families.forEach((family, i) => {
      const picked = String(i) === scheme.value;
      swatch(`swatch-family-${i}`, colour(i), dashes[i % 4]);
      if (!shown.has(String(i)) && !picked) return;
      const line = {color: colour(i), dash: dashes[i % 4], width: picked ? 4 : 1.8};
      traces.push({name: `${family.label} (${family.kind})`, x: family.error.epsilon,
        y: family.error.error, mode: "lines", line,
        hovertemplate: "ε %{x:.3g}: mse %{y:.4g}"});
      traces.push({name: family.label, x: [data.target.epsilon], y: [family.mse], mode: "markers",
        marker: {color: colour(i), size: picked ? 11 : 7},
        hovertemplate: `ε %{x:.3g}: mse ${up(family.mse, 5)}`});
    });
    const along = (name) => traces.flatMap((one) => one[name]);
    draw("errors", traces, layout(log("ε", along("x")), log("mean squared error", along("y")),
      {shapes: [vertical(data.target.epsilon)]}));
  }

  function drawNoise() {
    const family = chosen();
    const shown = checked("method");
    const {colour, ink} = theme();
    family.curves.forEach((one) => swatch(`swatch-method-${one.method}`,
      colour(data.methods.indexOf(one.method)), kindDash[one.kind]));
    const traces = family.curves.filter((one) => shown.has(one.method)).map((one) => ({
      name: `${one.method} (${one.kind})`, x: one.noise, y: one.epsilon, mode: "lines+markers",
      line: {color: colour(data.methods.indexOf(one.method)), dash: kindDash[one.kind], width: 2.5},
      marker: {size: 5}, hovertemplate: "noise %{x:.4g}: ε ≤ %{y:.4g}"}));
    traces.push({name: `calibrated (${family.kind})`, x: [family.noise], y: [family.epsilon],
      mode: "markers", marker: {color: ink, size: 11},
      hovertemplate: `noise ${up(family.noise, 5)}: ε ≤ ${up(family.epsilon, 5)}`});
    if (family.estimate !== null && shown.has("estimate")) {
      traces.push({name: "exact accounting (estimate)", x: [family.estimate],
        y: [data.target.epsilon], mode: "markers",
        marker: {color: ink, size: 12, symbol: "diamond-open", line: {width: 2}},
        hovertemplate: "noise about %{x:.4g} (estimate)"});
    }
    // Curves far above the target leave the picture instead of flattening it.
    const most = 12 * data.target.epsilon;
    const seen = traces.flatMap((one) => one.y).filter((y) => y > 0 && y <= most);
    draw("noise", traces, layout(log("noise multiplier", traces.flatMap((one) => one.x)),
      log("ε (upper bound)", seen), {shapes: [horizontal(data.target.epsilon)]}));
  }

  function drawProfile() {
    const {colour, ink} = theme();
    const {points, epsilon, label} = chosen();
    draw("profile", [
      {name: label, x: points.epsilon, y: points.delta, mode: "lines+markers",
        line: {color: colour(0), width: 2.5}, marker: {size: 5},
        hovertemplate: "(ε, δ) = (%{x:.4g}, %{y:.3g})<extra></extra>"},
      {x: [epsilon], y: [data.target.delta], mode: "markers",
        marker: {color: ink, size: 11},
        hovertemplate: `(ε, δ) = (${up(epsilon, 5)}, %{y:.3g})<extra></extra>`},
    ], layout(axis("ε"), axis("δ (upper bound)", {type: "log", dtick: 1})));
  }

  // The definition of (ε, δ) in both directions, as in PrivacyPoints.true_positive_rate.
  function power(points, rate) {
    let least = 1;
    points.epsilon.forEach((epsilon, i) => {
      const delta = points.delta[i];
      least = Math.min(least, delta + Math.exp(epsilon) * rate,
        1 - Math.exp(-epsilon) * (1 - delta - rate) + 1e-15);
    });
    return Math.max(rate, Math.min(1, least * (1 + 1e-12)));
  }
  const rates = [];
  for (let k = 0; k <= 240; k += 1) rates.push(10 ** (-6 + k / 40));
  const asked = () => 10 ** Number(slider.value);

  function drawAttack() {
    const {colour, grid, ink} = theme();
    const {points} = chosen();
    const reach = rates.map((rate) => power(points, rate));
    const rate = asked();
    const reached = power(points, rate);
    const said = "at false positive rate %{x:.3g} no attack has a<br>true positive rate above ";
    draw("attack", [
      {name: "guessing", x: rates, y: rates, mode: "lines", line: {color: grid, width: 2},
        hoverinfo: "skip"},
      {name: "no attack is above", x: rates, y: reach, mode: "lines",
        line: {color: colour(1), width: 2.5}, hovertemplate: `${said}%{y:.3g}<extra></extra>`},
      {x: [rate], y: [reached], mode: "markers", marker: {color: ink, size: 11},
        hoverinfo: "skip"},
    ], layout(powers("false positive rate", -6), powers("true positive rate", -6)));
    draw("tradeoff", [
      {name: "guessing", x: [0, 1], y: [1, 0], mode: "lines", line: {color: grid, width: 2},
        hoverinfo: "skip"},
      {name: "no attack is below", x: [0, ...rates], y: [1 - power(points, 0), ...reach.map((y) => 1 - y)],
        mode: "lines", line: {color: colour(1), width: 2.5},
        hovertemplate: "false positives %{x:.3g}, false negatives ≥ %{y:.3g}<extra></extra>"},
      {x: [rate], y: [1 - reached], mode: "markers", marker: {color: ink, size: 11},
        hoverinfo: "skip"},
    ], layout(axis("false positive rate", {range: [0, 1]}),
      axis("false negative rate", {range: [0, 1.02]})));
    byId("reading").textContent = `At a false positive rate of ${plain(rate)} no attack has a true ` +
      `positive rate above ${up(reached)} (${up(reached / rate)} times guessing).`;
    slider.setAttribute("aria-valuetext", `false positive rate ${plain(rate)}`);
  }

  function drawBatches() {
    const {colour, grid, ink} = theme();
    const {batches} = chosen();
    byId("simulated").hidden = batches === null;
    if (batches === null) return;
    draw("raster", [{x: batches.joined.map((one) => one[1]), y: batches.joined.map((one) => one[0]),
      mode: "markers", marker: {symbol: "square", size: 5, color: colour(0)},
      customdata: batches.joined.map((one) => batches.examples[one[0]]),
      hovertemplate: "example %{customdata} joins step %{x}<extra></extra>"}],
    layout(axis("step", {range: [-1, batches.columns]}),
      axis("example", {range: [batches.examples.length, -1], showgrid: false, showticklabels: false})));
    draw("sizes", [{x: batches.sizes.map((_, i) => i), y: batches.sizes, mode: "lines",
      line: {color: colour(2), width: 1}, hovertemplate: "step %{x}: %{y} examples<extra></extra>"}],
    layout(axis(batches.part ? `step (${batches.part})` : "step"), axis("batch size", {rangemode: "tozero"}),
      {shapes: [{...horizontal(batches.expected), line: {color: ink, width: 1.5, dash: "dash"}}]}));
  }

  // ---- controls ----------------------------------------------------------------------------
  function showText() {
    document.querySelectorAll("[data-family]").forEach((part) => {
      part.hidden = part.dataset.family !== scheme.value;
    });
    const family = chosen();
    document.querySelectorAll("[data-method]").forEach((toggle) => {
      const name = toggle.dataset.method;
      const curve = family.curves.find((one) => one.method === name);
      toggle.hidden = name === "estimate" ? family.estimate === null : curve === undefined;
      if (curve === undefined) return;
      const middle = curve.epsilon[(curve.epsilon.length - 1) / 2];
      const value = middle === null ? "" : `: ε ≤ ${up(middle, 5)} at this noise`;
      toggle.querySelector("label").textContent = `${name} (${curve.kind})${value}`;
    });
  }
  const figures = [drawErrors, drawNoise, drawProfile, drawAttack, drawBatches];
  const drawAll = () => { showText(); figures.forEach((one) => one()); };

  scheme.addEventListener("change", drawAll);
  slider.addEventListener("input", drawAttack);
  document.querySelectorAll('input[name="method"]').forEach((box) => box.addEventListener("change", drawNoise));
  document.querySelectorAll('input[name="family"]').forEach((box) => box.addEventListener("change", drawErrors));
  dark.addEventListener("change", drawAll);
  wide.addEventListener("change", drawAll);
  window.addEventListener("beforeprint", () => { printing = true; drawAll(); });
  window.addEventListener("afterprint", () => { printing = false; drawAll(); });

  // The text is there at once; figures follow one by one, so that the page can be read meanwhile.
  showText();
  const rest = [...figures];
  const next = () => {
    const one = rest.shift();
    if (one === undefined) { document.documentElement.dataset.ready = "yes"; return; }
    one();
    setTimeout(next, 0);
  };
  next();
})();
