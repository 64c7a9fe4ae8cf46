// Which view is shown: the address says it, so that every state can be kept and sent.
"use strict";

const State = (() => {
  const VIEWS = ["overview", "captions", "caption"];
  const byId = (id) => document.getElementById(id);
  let shown = "";

  function now() {
    const [view, query = ""] = decodeHash().split(/\?(.*)/s);
    return { ...Object.fromEntries(new URLSearchParams(query)), view: VIEWS.includes(view) ? view : "overview" };
  }
  const decodeHash = () => window.location.hash.slice(1);

  function link(view, values) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(values || {})) if (name !== "view" && value) query.set(name, value);
    const text = query.toString();
    return text ? `#${view}?${text}` : `#${view}`;
  }
  const go = (view, values) => { window.location.hash = link(view, values); };
  const replace = (view, values) => { window.history.replaceState(null, "", link(view, values)); route(); };

  function range(state, name) {
    const text = state[`range.${name}`];
    if (!text) return null;
    const [low, high] = text.split("~");
    return [low === "" ? -Infinity : Number(low), high === "" || high === undefined ? Infinity : Number(high)];
  }

  // A row is named by system and id, so that an address survives another order of the input.
  const named = (rows, row) => `${rows.system[row]}.${rows.ids[rows.item[row]]}`;
  function row(rows, name) {
    const [system, id] = (name || "").split(/\.(.*)/s);
    const item = rows.ids.indexOf(id);
    const own = item < 0 ? undefined : rows.siblings[item].find((place) => rows.system[place] === Number(system));
    return own === undefined ? -1 : own;
  }

  const tell = (text) => { byId("told").textContent = text; };
  function failed(error) {
    const notice = byId("notice");
    notice.textContent = Words.say("failed", error.message);
    notice.hidden = false;
  }

  function frame(state, rows) {
    byId("title").textContent = vericapReport.head.title;
    byId("language").textContent = Words.code === "ja" ? "English" : "日本語";
    byId("language").lang = Words.code === "ja" ? "en" : "ja";
    for (const node of document.querySelectorAll("[data-words]")) node.textContent = Words.say(node.dataset.words);
    for (const [id, view] of [["to-overview", "overview"], ["to-captions", "captions"]]) {
      const here = state.view === view || (view === "captions" && state.view === "caption");
      if (here) byId(id).setAttribute("aria-current", "page"); else byId(id).removeAttribute("aria-current");
    }
    byId("to-captions").href = state.view === "caption" ? link("captions", { ...state, row: "" }) : "#captions";
    for (const view of VIEWS) byId(view).hidden = view !== state.view;
    document.body.dataset.view = state.view;
    document.body.dataset.photos = String(!rows || rows.photos.links.length > 0);
  }

  async function route() {
    if (now().view === "overview" && !vericapReport.rows.text) {
      frame(now());
      Overview.show(byId("overview"), null); // scores at once, captions when they are here
    }
    const rows = await vericapReport.all();
    const state = now();
    const again = shown === state.view;
    const before = shown;
    shown = state.view;
    frame(state, rows);
    if (state.view === "overview") Overview.show(byId("overview"), rows);
    else if (state.view === "captions") Captions.show(byId("captions"), rows, state, again);
    else await Caption.show(byId("caption"), rows, state);
    document.title = state.view === "caption" ? `${state.row.split(/\.(.*)/s)[1] || ""} · ${vericapReport.head.title}` : vericapReport.head.title;
    if (!again && before) {
      if (state.view === "captions" && before === "caption") Captions.focus();
      else { window.scrollTo(0, 0); byId("main").focus({ preventScroll: true }); }
    }
    document.body.dataset.ready = String(Number(document.body.dataset.ready || 0) + 1);
  }

  function keys(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && typing) { event.target.blur(); return; }
    if (typing) return;
    const state = now();
    if (event.key === "/") { event.preventDefault(); if (state.view === "captions") byId("search").focus(); else { go("captions", { ...state, row: "" }); setTimeout(() => byId("search") && byId("search").focus(), 300); } }
    else if (state.view === "caption") Caption.keys(event, state);
  }

  function language(code) {
    Words.use(code);
    try { localStorage.setItem("vericap-report-language", code); } catch { /* a browser that keeps nothing */ }
  }

  async function start() {
    if (typeof DecompressionStream === "undefined") { byId("notice").textContent = Words.say("old"); byId("notice").hidden = false; return; }
    let kept = "";
    try { kept = localStorage.getItem("vericap-report-language") || ""; } catch { kept = ""; }
    Words.use(kept || (navigator.language || "en").slice(0, 2));
    try {
      const head = await vericapReport.start();
      Words.basis(head.looked || !head.judges.length);
      window.addEventListener("hashchange", () => route().catch(failed));
      window.addEventListener("resize", () => Captions.resized(vericapReport.rows, now()));
      document.addEventListener("keydown", keys);
      byId("language").addEventListener("click", () => { language(Words.code === "ja" ? "en" : "ja"); shown = ""; route().catch(failed); });
      document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
      await route();
    } catch (error) { failed(error); throw error; }
  }

  document.addEventListener("DOMContentLoaded", start);
  return { now, link, go, replace, range, named, row, tell, failed };
})();
