// The list of captions: filters, order, search; only rows on the screen exist.
"use strict";

const Captions = (() => {
  const { el, number } = Draw;
  const say = Words.say;
  const head = vericapReport.head;
  const SHOWN = 4; // metrics beside a caption
  let found = []; // rows in the order of the screen
  let last = ""; // the filters that made it
  let drawn = new Map();
  let parts = null;
  let current = 0;

  // --- which rows, in which order ---

  const metric = (name) => head.metrics.find((own) => own.name === name);

  function fits(rows, state) {
    const words = (state.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const system = head.systems.indexOf(state.system);
    const gone = state.gone ? rows.vocabulary.indexOf(state.gone.toLowerCase()) : -1;
    const weak = (state.weak || "").toLowerCase().trim();
    const ranges = head.metrics.map((own) => [rows.scores[own.name], State.range(state, own.name)]).filter(([, range]) => range);
    return (row) => {
      if (system >= 0 && rows.system[row] !== system) return false;
      if (state.problem && rows.problem[row] === undefined) return false;
      if (weak && !(weak === "*" ? rows.weakWords[row].length : rows.weakWords[row].some((word) => word === weak))) return false;
      if (state.gone && !(state.gone === "*" ? rows.gone[row].length : rows.gone[row].includes(gone))) return false;
      for (const [scores, [low, high]] of ranges) {
        const value = scores[row];
        if (value === null || value < low || value > high) return false;
      }
      return words.every((word) => rows.lower[row].includes(word) || rows.ids[rows.item[row]].toLowerCase().includes(word));
    };
  }

  // A number for every row; the lowest comes first, rows without one come last.
  function ranking(rows, sort) {
    if (!sort) return null;
    if (sort === "weak") return (row) => -rows.weakWords[row].length;
    if (sort.startsWith("gap:")) {
      const [, one, two, ...rest] = sort.split(":");
      const own = metric(rest.join(":"));
      if (!own) return null;
      const scores = rows.scores[own.name];
      const of = (row, system) => { const other = rows.siblings[rows.item[row]].find((place) => rows.system[place] === Number(system)); return other === undefined ? null : scores[other]; };
      return (row) => {
        const [a, b] = [of(row, one), of(row, two)];
        return a === null || b === null ? NaN : (own.lower ? -1 : 1) * (a - b);
      };
    }
    const best = sort.startsWith("-");
    const own = metric(best ? sort.slice(1) : sort);
    if (!own) return null;
    const sign = (own.lower ? -1 : 1) * (best ? -1 : 1);
    return (row) => { const value = rows.scores[own.name][row]; return value === null ? NaN : sign * value; };
  }

  function select(rows, state) {
    const wanted = JSON.stringify(Object.entries(state).filter(([name, value]) => value && !["view", "row", "as"].includes(name)).sort());
    if (wanted === last) return found;
    last = wanted;
    const fit = fits(rows, state);
    found = [];
    for (let row = 0; row < rows.count; row += 1) if (fit(row)) found.push(row);
    const rank = ranking(rows, state.sort);
    if (rank) {
      const ranks = new Map(found.map((row) => [row, rank(row)]));
      found.sort((a, b) => {
        const [x, y] = [ranks.get(a), ranks.get(b)];
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
        return x - y || a - b;
      });
    }
    return found;
  }

  // --- one row ---

  const usual = () => [...head.metrics].sort((a, b) => /^bleu-[123]$/.test(a.name) - /^bleu-[123]$/.test(b.name));

  // The metrics beside a caption: the one that sorts, the verdict's columns, then one of every aspect.
  function shown(state) {
    const sorting = (state.sort || "").startsWith("gap:") ? state.sort.split(":").slice(3).join(":") : (state.sort || "").replace(/^-/, "");
    const order = [sorting, "verdict", "fidelity", "adequacy", "fluency"].map(metric).filter(Boolean);
    for (const aspect of ["fidelity", "adequacy", "fluency", "references"]) {
      const own = usual().find((one) => one.aspect === aspect);
      if (own && !order.some((one) => one.aspect === aspect && one !== metric(sorting))) order.push(own);
    }
    return [...new Set([...order, ...usual()])].slice(0, SHOWN);
  }

  // Where a score lies between the worst and the best: 0 to 1.
  function share(own, value) {
    const [low, high] = [own.range[0] === null ? own.edges[0] : own.range[0], own.range[1] === null || own.range[1] > 3 ? own.edges[1] : own.range[1]];
    return Math.min(1, Math.max(0, (value - low) / ((high - low) || 1)));
  }

  function marked(text, spans) {
    const letters = Array.from(text);
    const parts = [];
    let done = 0;
    for (let at = 0; at < spans.length; at += 2) {
      if (spans[at] < done) continue;
      parts.push(letters.slice(done, spans[at]).join(""), el("span", { class: "weak" }, letters.slice(spans[at], spans[at + 1]).join("")));
      done = spans[at + 1];
    }
    return [...parts, letters.slice(done).join("")];
  }

  function picture(rows, row) {
    const image = el("img", { alt: "", class: "thumb", width: 128, height: 96, loading: "lazy" });
    const photo = rows.photo[row];
    const holder = el("span", { class: "frame" }, photo < 0 ? el("span", { class: "faint" }, say("no_photo")) : image);
    if (photo >= 0) vericapReport.thumbnail(photo).then((source) => { if (source) image.src = source; else image.replaceWith(say("no_photo")); }, State.failed);
    return holder;
  }

  function entry(rows, place, state) {
    const row = found[place];
    const scores = shown(state).map((own) => {
      const value = rows.scores[own.name][row];
      return el("span", { class: "mini" }, el("span", { class: "name" }, own.name), el("span", { class: "value" }, value === null ? "–" : number(value, 2)),
        el("span", { class: "bar", "aria-hidden": "true" }, value === null ? null : el("span", { class: own.lower ? "low" : "", style: { width: `${100 * share(own, value)}%` } })));
    });
    const weak = rows.weakWords[row].length;
    return el("li", { class: "entry", "aria-setsize": found.length, "aria-posinset": place + 1, "data-place": place },
      el("a", { href: State.link("caption", { ...state, row: State.named(rows, row) }), tabindex: place === current ? 0 : -1 },
        picture(rows, row),
        el("span", { class: "said" },
          el("span", { class: "text", lang: head.lang }, rows.text[row].trim() ? marked(rows.text[row], rows.weak[row]) : el("span", { class: "faint" }, say("empty"))),
          el("span", { class: "meta" }, head.systems.length > 1 ? Overview.key(head.systems[rows.system[row]], rows.system[row]) : null, el("span", {}, rows.ids[rows.item[row]]),
            weak ? el("span", { class: "unseen" }, `${say("unsupported")}: ${rows.weakWords[row].join(", ")}`) : null,
            rows.problem[row] !== undefined ? el("span", { class: "tag alert" }, say("problem")) : null)),
        el("span", { class: "minis" }, scores)));
  }

  // --- rows on the screen ---

  function layout(state) {
    const grid = state.as === "grid";
    const wide = parts.view.clientWidth;
    const columns = grid ? Math.max(1, Math.floor(wide / 210)) : 1;
    return { columns, tall: grid ? 252 : wide < 640 ? 178 : 116 };
  }

  function render(rows, state) {
    const { columns, tall } = layout(state);
    const lines = Math.ceil(found.length / columns);
    parts.list.style.height = `${lines * tall}px`;
    const first = Math.max(0, Math.floor(parts.view.scrollTop / tall) - 3);
    const end = Math.min(lines, Math.ceil((parts.view.scrollTop + parts.view.clientHeight) / tall) + 3);
    const keep = new Map();
    for (let place = first * columns; place < Math.min(found.length, end * columns); place += 1) {
      const node = drawn.get(place) || entry(rows, place, state);
      node.style.transform = `translate(${(100 * (place % columns))}%, ${Math.floor(place / columns) * tall}px)`;
      node.style.width = `${100 / columns}%`;
      node.style.height = `${tall}px`;
      if (!node.isConnected) parts.list.append(node);
      keep.set(place, node);
    }
    for (const [place, node] of drawn) if (!keep.has(place)) node.remove();
    drawn = keep;
  }

  function move(rows, state, step) {
    const { columns, tall } = layout(state);
    const before = drawn.get(current);
    current = Math.min(found.length - 1, Math.max(0, current + step));
    const top = Math.floor(current / columns) * tall;
    if (top < parts.view.scrollTop) parts.view.scrollTop = top;
    else if (top + tall > parts.view.scrollTop + parts.view.clientHeight) parts.view.scrollTop = top + tall - parts.view.clientHeight;
    render(rows, state);
    if (before) before.firstChild.tabIndex = -1;
    const link = drawn.get(current).firstChild;
    link.tabIndex = 0;
    link.focus({ preventScroll: true });
  }

  // --- the tools above ---

  const change = (values) => State.go("captions", { ...State.now(), ...values, row: "" });

  function choice(id, text, options, value, name) {
    const node = el("select", { id, onchange: () => change({ [name]: node.value }) }, options);
    node.value = value || "";
    return el("label", { for: id }, el("span", {}, text), node);
  }

  function typed(id, text, name, state, extra) {
    let waits = 0;
    const node = el("input", { id, type: "search", value: state[name] || "", ...extra, oninput: () => { clearTimeout(waits); waits = setTimeout(() => change({ [name]: node.value.trim() }), 150); } });
    return el("label", { for: id }, el("span", {}, text), node);
  }

  function sorts() {
    const option = (value, text) => el("option", { value }, text);
    const pairs = head.systems.flatMap((_, one) => head.systems.map((__, two) => [one, two])).filter(([one, two]) => one !== two && (head.systems.length < 4 || one === 0 || two === 0));
    return [option("", say("as_given")), head.judges.length ? option("weak", say("weak_first")) : null,
      el("optgroup", { label: say("metric") }, head.metrics.flatMap((own) => [option(own.name, say("worst_first", own.name)), option(`-${own.name}`, say("best_first", own.name))])),
      head.systems.length > 1 ? el("optgroup", { label: say("difference") }, head.metrics.flatMap((own) => pairs.map(([one, two]) => option(`gap:${one}:${two}:${own.name}`, say("gap_first", own.name, head.systems[two], head.systems[one]))))) : null];
  }

  function bounds(own, state) {
    const range = State.range(state, own.name) || [-Infinity, Infinity];
    const field = (end, id) => {
      const node = el("input", { id: `${id}-${own.name}`, type: "number", step: "any", value: Number.isFinite(range[end]) ? range[end] : "", placeholder: number(own.edges[end], 2), "aria-label": say(id, own.name),
        onchange: () => { range[end] = node.value === "" ? (end ? Infinity : -Infinity) : Number(node.value); change({ [`range.${own.name}`]: range.some(Number.isFinite) ? range.map((v) => (Number.isFinite(v) ? v : "")).join("~") : "" }); } });
      return node;
    };
    return el("div", { class: "bounds", role: "group", "aria-label": say("range", own.name) }, el("span", {}, own.name), field(0, "from"), el("span", { "aria-hidden": "true" }, "–"), field(1, "to"));
  }

  function tools(state) {
    const words = (id, values) => el("datalist", { id }, ["*", ...values.map(([word]) => word)].map((value) => el("option", { value })));
    const more = Object.keys(state).some((name) => name.startsWith("range.") || ["weak", "gone", "problem"].includes(name) && state[name]);
    const toggle = (as, text) => el("button", { type: "button", "aria-pressed": (state.as || "list") === as ? "true" : "false", id: `as-${as}`, onclick: () => change({ as: as === "list" ? "" : as }) }, text);
    const only = el("input", { type: "checkbox", id: "problem-filter", onchange: () => change({ problem: only.checked ? "1" : "" }) });
    only.checked = Boolean(state.problem);
    return el("form", { class: "tools card", role: "search", "aria-label": say("filters"), onsubmit: (event) => event.preventDefault() },
      el("div", { class: "first" },
        typed("search", say("search"), "q", state, { enterkeyhint: "search" }),
        head.systems.length > 1 ? choice("system-filter", say("system"), [el("option", { value: "" }, say("all_systems")), head.systems.map((name) => el("option", { value: name }, name))], state.system, "system") : null,
        choice("sort", say("sort"), sorts(), state.sort, "sort"),
        el("div", { class: "toggle", role: "group" }, toggle("list", say("list")), toggle("grid", say("grid")))),
      el("details", { open: more, id: "more" }, el("summary", {}, say("filters")),
        el("div", { class: "second" },
          head.judges.length ? typed("weak-filter", say("weak_filter"), "weak", state, { list: "weak-words", placeholder: say("any_word") }) : null,
          head.gone.length ? typed("gone-filter", say("gone_filter"), "gone", state, { list: "gone-words", placeholder: say("any_word") }) : null,
          words("weak-words", head.weak), words("gone-words", head.gone),
          el("label", { class: "check", for: "problem-filter" }, only, el("span", {}, say("only_problems"))),
          el("fieldset", {}, el("legend", {}, say("ranges")), head.metrics.map((own) => bounds(own, state))))),
      el("p", { class: "found" }, el("strong", { id: "found" }, say("found", found.length, vericapReport.rows.count)),
        Object.keys(state).some((name) => !["view", "as"].includes(name) && state[name]) ? el("a", { id: "clear", href: State.link("captions", { as: state.as }) }, say("clear")) : null));
  }

  function keys(event, rows, state) {
    const { columns } = layout(state);
    const page = Math.max(1, Math.floor(parts.view.clientHeight / layout(state).tall) - 1) * columns;
    const steps = { ArrowDown: columns, ArrowUp: -columns, j: columns, k: -columns, PageDown: page, PageUp: -page, Home: -found.length, End: found.length, ...(columns > 1 ? { ArrowRight: 1, ArrowLeft: -1 } : {}) };
    if (event.key in steps && found.length && !event.ctrlKey && !event.metaKey) { event.preventDefault(); move(rows, state, steps[event.key]); }
  }

  function show(section, rows, state, again) {
    const before = last;
    select(rows, state);
    const held = again && parts ? { top: parts.view.scrollTop, focus: document.activeElement && document.activeElement.id, at: document.activeElement && document.activeElement.selectionStart } : null;
    const changed = before !== last;
    if (changed) current = 0;
    drawn = new Map();
    const list = el("ul", { class: state.as === "grid" ? "entries grid" : "entries" });
    const view = el("div", { class: "viewport", id: "viewport", onkeydown: (event) => keys(event, rows, state) }, found.length ? list : el("p", { class: "faint empty" }, say("nothing")));
    parts = { list, view };
    section.replaceChildren(el("h1", { class: "unseen" }, say("captions")), tools(state), view);
    let frame = 0;
    view.addEventListener("scroll", () => { if (!frame) frame = requestAnimationFrame(() => { frame = 0; render(rows, state); }); }, { passive: true });
    if (held && held.focus && document.getElementById(held.focus)) {
      const node = document.getElementById(held.focus);
      node.focus();
      if (typeof held.at === "number" && node.type === "search") node.setSelectionRange(held.at, held.at);
    }
    if (!changed) { const { columns, tall } = layout(state); list.style.height = `${Math.ceil(found.length / columns) * tall}px`; view.scrollTop = held ? held.top : Math.max(0, (Math.floor(current / columns) - 1) * tall); }
    render(rows, state);
    if (held) State.tell(say("found", found.length, rows.count));
  }

  const resized = (rows, state) => { if (parts && parts.view.isConnected) { render(rows, state); } };
  const at = (row) => found.indexOf(row);
  const hold = (place) => { current = Math.max(0, place); };
  const focus = () => { const node = drawn.get(current); if (node) node.firstChild.focus({ preventScroll: true }); };

  return { show, select, at, hold, focus, resized, share, marked };
})();
