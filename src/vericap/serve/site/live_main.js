// From the address to a view.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  let shown = "";

  function frame(state) {
    byId("language").textContent = Words.code === "ja" ? "English" : "日本語";
    byId("language").lang = Words.code === "ja" ? "en" : "ja";
    for (const node of document.querySelectorAll("[data-words]")) node.textContent = Words.say(node.dataset.words);
    for (const view of State.VIEWS) byId(view).hidden = view !== state.view;
    for (const view of ["check", "examples", "batch", "scores"]) {
      const here = state.view === view || (view === "scores" && state.view === "score");
      if (here) byId(`to-${view}`).setAttribute("aria-current", "page"); else byId(`to-${view}`).removeAttribute("aria-current");
    }
    document.body.dataset.view = `live-${state.view}`;
    document.title = `${Words.say(`live_${state.view === "score" ? "scores" : state.view}`)} · vericap`;
  }

  async function route() {
    const state = State.now();
    const again = shown === state.view;
    State.warn("");
    frame(state);
    for (const view of State.VIEWS) if (view !== state.view) byId(view).replaceChildren(); // ids of the caption view exist once
    if (state.view === "check") Check.show(byId("check"), state);
    else if (state.view === "examples") Examples.show(byId("examples"));
    else if (state.view === "batch") Many.show(byId("batch"));
    else if (state.view === "scores") await Table.show(byId("scores"), state);
    else await Table.one(byId("score"), state);
    if (shown && !again) { window.scrollTo(0, 0); byId("main").focus({ preventScroll: true }); }
    shown = state.view;
    document.body.dataset.ready = String(Number(document.body.dataset.ready || 0) + 1);
  }

  function language(code) {
    Words.use(code);
    try { localStorage.setItem("vericap-report-language", code); } catch { /* a browser that keeps nothing */ }
  }

  async function start() {
    let kept = "";
    try { kept = localStorage.getItem("vericap-report-language") || ""; } catch { kept = ""; }
    Words.use(kept || (navigator.language || "en").slice(0, 2));
    try {
      const [metrics, examples, beside, health] = await Promise.all(["metrics", "examples", "shown", "health"].map((address) => State.ask(address)));
      Check.use(metrics);
      Examples.use(examples);
      byId("to-scores").hidden = !beside.scores;
      byId("to-report").hidden = !beside.report;
      Check.listen();
      window.addEventListener("hashchange", () => route().catch(State.failed));
      byId("language").addEventListener("click", () => { language(Words.code === "ja" ? "en" : "ja"); route().catch(State.failed); });
      document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
      if (!window.location.hash && beside.scores) window.history.replaceState(null, "", "#scores");
      await route();
      if (health.status === "warming") byId("told").textContent = Words.say("live_warming");
    } catch (error) { State.failed(error); throw error; }
  }

  document.addEventListener("DOMContentLoaded", start);
})();
