// Elements and pictures, made by hand. Texts reach the page as text nodes only: nothing in a caption is read as markup.
"use strict";

const Draw = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (name === "style") for (const [key, own] of Object.entries(value)) node.style.setProperty(key, own);
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== "") node.append(child);
    return node;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const label = (x, y, text, attributes) => svg("text", { x, y, ...attributes }, String(text));

  const number = (value, digits = 3) => (value === null || value === undefined ? Words.say("undefined") : value.toFixed(digits));

  // Width of a text as drawn; East Asian letters are square.
  const width = (text, size = 13) => {
    let wide = 0;
    for (const letter of text) wide += letter.codePointAt(0) > 0x2e7f ? 1 : 0.56;
    return wide * size;
  };
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  // A value with its interval on a scale that all systems share.
  function track(score, low, high, series) {
    const at = (value) => 4 + (112 * (value - low)) / ((high - low) || 1);
    const parts = [svg("line", { x1: 4, x2: 116, y1: 7, y2: 7, class: "axis" })];
    if (score.interval && score.interval[0] !== null) {
      parts.push(svg("line", { x1: at(score.interval[0]), x2: at(score.interval[1]), y1: 7, y2: 7, class: `interval s${series}` }));
    }
    parts.push(svg("circle", { cx: at(score.value), cy: 7, r: 4, class: `dot s${series}` }));
    return svg("svg", { viewBox: "0 0 120 14", class: "track", "aria-hidden": "true" }, parts);
  }

  // Steps of one line per system; systems differ in colour and in dashes.
  function histogram(metric, systems) {
    const high = Math.max(1, ...metric.systems.flatMap((own) => own.bins));
    const wide = 260;
    const tall = 84;
    const lines = metric.systems.map((own, series) => {
      const step = wide / own.bins.length;
      let path = `M0 ${tall}`;
      own.bins.forEach((count, bin) => { path += `V${(tall - (tall - 6) * (count / high)).toFixed(1)}H${((bin + 1) * step).toFixed(1)}`; });
      return svg("path", { d: `${path}V${tall}`, class: `steps s${series}${series ? "" : " first"}` });
    });
    const said = `${Words.say("distribution_of", metric.name)}: ${metric.systems.map((own, series) => `${systems[series]} ${number(own.value)}`).join(", ")}`;
    return svg("svg", { viewBox: `0 0 ${wide} ${tall + 16}`, class: "histogram", role: "img", "aria-label": said },
      lines, svg("line", { x1: 0, x2: wide, y1: tall, y2: tall, class: "axis" }),
      label(0, tall + 13, number(metric.edges[0], 2)), label(wide, tall + 13, number(metric.edges[1], 2), { "text-anchor": "end" }));
  }

  // Two columns of names with ribbons between them.
  function transport(moves) {
    const sides = [0, 1].map((side) => {
      const mass = new Map();
      for (const move of moves) mass.set(move[side], (mass.get(move[side]) || 0) + move[2]);
      return mass;
    });
    const total = Math.max(...sides.map((mass) => [...mass.values()].reduce((sum, own) => sum + own, 0))) || 1;
    const rows = Math.max(sides[0].size, sides[1].size);
    const tall = Math.max(60, 26 * rows);
    const left = Math.min(190, Math.max(60, ...[...sides[0].keys()].map((name) => width(name) + 14)));
    const right = Math.min(190, Math.max(60, ...[...sides[1].keys()].map((name) => width(name) + 14)));
    const gap = 190;
    const scale = (tall - 8 * rows) / total;
    const places = sides.map((mass) => {
      const free = (tall - total * scale - 0) / mass.size;
      let y = 0;
      const found = new Map();
      for (const [name, own] of mass) { y += free / 2; found.set(name, { y, at: y, size: Math.max(2, own * scale) }); y += own * scale + free / 2; }
      return found;
    });
    const costs = moves.map((move) => move[3]);
    const far = Math.max(...costs) || 1;
    const ribbons = moves.map(([object, word, mass, cost]) => {
      const from = places[0].get(object);
      const to = places[1].get(word);
      const size = mass * scale;
      const [y0, y1] = [from.at + size / 2, to.at + size / 2];
      from.at += size;
      to.at += size;
      const near = cost / far < 0.5 || far < 0.05;
      return svg("path", { d: `M${left} ${y0}C${left + gap / 2} ${y0} ${left + gap / 2} ${y1} ${left + gap} ${y1}`, class: near ? "ribbon near" : "ribbon far", "stroke-width": Math.max(1.5, Math.min(size, near ? 16 : 9)).toFixed(1) },
        svg("title", {}, `${object} → ${word}: ${mass.toFixed(2)} × ${cost.toFixed(2)}`));
    });
    const names = places.flatMap((own, side) => [...own].map(([name, place]) => [
      svg("rect", { x: side ? left + gap : left - 4, y: place.y, width: 4, height: place.size, class: "post" }),
      label(side ? left + gap + 10 : left - 10, place.y + place.size / 2 + 4, cut(name, 24), { "text-anchor": side ? "start" : "end" }),
    ]));
    const wide = left + gap + right;
    const said = moves.map(([object, word]) => `${object} → ${word}`).join(", ");
    return svg("svg", { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, class: "transport", role: "img", "aria-label": said }, ribbons, names);
  }

  // A scene graph: objects in a row, attributes below, relations as arcs above (as `vericap parse --draw` has them).
  function graph([title, objects, attributes, relations], matched) {
    const own = objects.map(() => []);
    for (const [place, text] of attributes) own[place].push(text);
    const widths = objects.map((name, place) => Math.max(...[name, ...own[place]].map((text) => width(text))) + 20);
    const centres = [];
    objects.forEach((_, place) => centres.push(place ? centres[place - 1] + (widths[place - 1] + widths[place]) / 2 + 18 : 8 + widths[0] / 2));
    for (const [from, text, to] of [...relations].sort((a, b) => Math.max(a[0], a[2]) - Math.max(b[0], b[2]))) {
      const [low, high] = [Math.min(from, to), Math.max(from, to)];
      const lack = width(text) + 36 - (centres[high] - centres[low]);
      if (low !== high && lack > 0) for (let place = high; place < centres.length; place += 1) centres[place] += lack;
    }
    const levels = [];
    const taken = [];
    const order = relations.map((_, n) => n).sort((a, b) => Math.abs(relations[a][2] - relations[a][0]) - Math.abs(relations[b][2] - relations[b][0]));
    for (const place of order) {
      const span = [Math.min(relations[place][0], relations[place][2]), Math.max(relations[place][0], relations[place][2])];
      let level = 0;
      while (taken[level] && taken[level].some((other) => span[0] <= other[1] && other[0] <= span[1])) level += 1;
      (taken[level] = taken[level] || []).push(span);
      levels[place] = level;
    }
    const base = 16 + 34 * taken.length;
    const deepest = Math.max(0, ...own.map((texts) => texts.length));
    const tall = base + 30 + 32 * deepest;
    const loops = relations.filter(([from, , to]) => from === to).map(([, text]) => width(text) / 2 + 20);
    const wide = (objects.length ? centres[centres.length - 1] + Math.max(widths[widths.length - 1] / 2, ...loops) : 100) + 8;
    const lines = [];
    const boxes = [];
    const box = (x, y, text, kind, known) => boxes.push(
      svg("rect", { x: x - width(text) / 2 - 8, y: y - 12, width: width(text) + 16, height: 24, rx: kind === "object" ? 4 : 12, class: `node ${kind} ${known ? "matched" : "alone"}` }),
      label(x, y + 4.5, text, { "text-anchor": "middle" }));
    relations.forEach(([from, text, to], place) => {
      const shift = 5 * ((place % 3) - 1);
      const [start, end] = from === to ? [centres[from] - 12, centres[from] + 12] : [centres[from] + shift, centres[to] + shift];
      const top = base - 34 * levels[place] - 22;
      lines.push(svg("path", { d: `M${start} ${base}V${top}H${end}V${base - 1}`, class: "arc" }), svg("path", { d: `M${end - 4} ${base - 7}l4 7l4 -7z`, class: "tip" }));
      box((start + end) / 2, top, text, "relation", matched([objects[from], text, objects[to]]));
    });
    objects.forEach((name, place) => {
      box(centres[place], base + 12, name, "object", matched([name]));
      own[place].forEach((text, step) => {
        const y = base + 12 + 32 * (step + 1);
        lines.push(svg("line", { x1: centres[place], x2: centres[place], y1: y - 22, y2: y - 12, class: "stem" }));
        box(centres[place], y, text, "attribute", matched([name, text]));
      });
    });
    const said = [...objects, ...attributes.map(([place, text]) => `${text} ${objects[place]}`), ...relations.map(([from, text, to]) => `${objects[from]} ${text} ${objects[to]}`)].join(", ");
    return svg("svg", { viewBox: `0 0 ${wide.toFixed(0)} ${tall}`, width: wide.toFixed(0), height: tall, class: "graph", role: "img", "aria-label": `${title}: ${said}` }, lines, boxes);
  }

  return { el, svg, label, number, cut, track, histogram, transport, graph };
})();
