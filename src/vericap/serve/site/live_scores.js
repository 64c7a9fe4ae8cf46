// Scores from disk, page by page: the server sorts, filters and searches.
"use strict";

const Table = (() => {
  const { el, number } = Draw;
  const say = Words.say;
  const EACH = 50;
  const SHOWN = 4; // scores beside a caption
  const byId = (id) => document.getElementById(id);
  const change = (values) => State.go("scores", { ...State.now(), page: "", ...values });

  function tools(state, found) {
    const option = (value, text) => el("option", { value }, text);
    let waits = 0;
    const search = el("input", { type: "search", id: "score-search", value: state.q || "", oninput: () => { clearTimeout(waits); waits = setTimeout(() => change({ q: search.value.trim() }), 300); } });
    const sort = el("select", { id: "score-sort", onchange: () => change({ sort: sort.value }) }, option("", say("as_given")),
      found.metrics.flatMap((own) => [option(own.lower ? `-${own.name}` : own.name, say("worst_first", own.name)), option(own.lower ? own.name : `-${own.name}`, say("best_first", own.name))]));
    sort.value = state.sort || "";
    const metric = el("select", { id: "score-metric", onchange: () => change({ metric: metric.value, low: "", high: "" }) }, option("", say("live_any")), found.metrics.map((own) => option(own.name, say("live_between", own.name))));
    metric.value = state.metric || "";
    const bound = (name) => { const node = el("input", { type: "number", step: "any", id: `score-${name}`, value: state[name] || "", "aria-label": say(name === "low" ? "from" : "to", state.metric), onchange: () => change({ [name]: node.value }) }); return node; };
    const only = el("input", { type: "checkbox", id: "score-problems", onchange: () => change({ problems: only.checked ? "true" : "" }) });
    only.checked = Boolean(state.problems);
    return el("form", { class: "tools card", role: "search", "aria-label": say("filters"), onsubmit: (event) => event.preventDefault() }, el("div", { class: "first" },
      el("label", { for: "score-search" }, el("span", {}, say("search")), search), el("label", { for: "score-sort" }, el("span", {}, say("sort")), sort),
      el("label", { for: "score-metric" }, el("span", {}, say("ranges")), metric), state.metric ? [bound("low"), bound("high")] : null,
      el("label", { class: "check", for: "score-problems" }, only, el("span", {}, say("only_problems")))));
  }

  function line(record, metrics, state) {
    const scores = metrics.slice(0, SHOWN).map((own) => el("span", { class: "mini" }, el("span", { class: "name" }, own.name), el("span", { class: "value" }, record[own.name] === null ? "–" : number(record[own.name], 2))));
    return el("li", {}, el("a", { href: State.link("score", { ...state, row: String(record.row) }) }, el("span", { class: "said" }, el("span", { class: "text" }, record.candidate || say("empty")),
      el("span", { class: "meta" }, record.id, record.problem ? el("span", { class: "tag alert" }, say("problem")) : null)), el("span", { class: "minis" }, scores)));
  }

  function pager(state, found) {
    const page = Number(state.page || 1);
    const pages = Math.max(1, Math.ceil(found.found / EACH));
    const step = (target, key, id) => (target < 1 || target > pages ? el("span", { class: "step off", id }, say(key)) : el("a", { class: "step", id, href: State.link("scores", { ...state, page: String(target) }) }, say(key)));
    return el("nav", { class: "pager", "aria-label": say("live_scores") }, step(page - 1, "live_previous", "page-previous"), el("span", { id: "page-place" }, say("live_page", page, pages)), step(page + 1, "live_next", "page-next"));
  }

  async function show(section, state) {
    const query = new URLSearchParams({ start: String((Number(state.page || 1) - 1) * EACH), count: String(EACH) });
    for (const name of ["sort", "q", "metric", "low", "high", "problems"]) if (state[name]) query.set(name, state[name]);
    const found = await State.ask(`scores?${query}`);
    const held = document.activeElement && document.activeElement.id;
    const at = document.activeElement && document.activeElement.selectionStart;
    const order = [...found.metrics].sort((a, b) => Number(b.name === (state.sort || "").replace(/^-/, "")) - Number(a.name === (state.sort || "").replace(/^-/, "")));
    section.replaceChildren(el("h1", { class: "unseen" }, say("live_scores")), tools(state, found),
      el("p", { class: "found" }, el("strong", { id: "score-found" }, say("live_found", found.found.toLocaleString(), found.all.toLocaleString()))),
      found.rows.length ? el("ol", { class: "score-list" }, found.rows.map((record) => line(record, order, state))) : el("p", { class: "faint" }, say("nothing")), pager(state, found));
    if (held && byId(held)) { byId(held).focus(); if (byId(held).type === "search") byId(held).setSelectionRange(at, at); }
    State.tell(say("live_found", found.found, found.all));
  }

  async function one(section, state) {
    const found = await State.ask(`scores/${encodeURIComponent(state.row || "0")}`);
    const { link } = found.rows;
    const size = link ? await sizeOf(link) : null;
    const box = el("div", { class: "result" });
    section.replaceChildren(el("nav", { class: "steps-bar", "aria-label": say("captions") }, el("a", { id: "back", href: State.link("scores", { ...state, row: "" }) }, say("back"))), box);
    State.draw(box, found, size ? { link, size } : null);
  }

  const sizeOf = (link) => new Promise((resolve) => {
    const image = new Image();
    image.onload = () => resolve([image.naturalWidth, image.naturalHeight]);
    image.onerror = () => resolve(null);
    image.src = link;
  });

  return { show, one };
})();
