// Many captions: a file and its photos are sent, the progress is shown, the scores are downloaded.
"use strict";

const Many = (() => {
  const { el, number } = Draw;
  const say = Words.say;
  const EVERY = 700; // milliseconds between two looks at the progress
  let current = null; // the upload as the server tells it
  const byId = (id) => document.getElementById(id);

  async function send(event) {
    event.preventDefault();
    const [file] = byId("batch-file").files;
    if (!file) { State.warn(say("live_choose_file")); byId("batch-file").focus(); return; }
    const data = new FormData();
    data.append("captions", file, file.name);
    for (const photo of byId("batch-photos").files) data.append("photos", photo, photo.name);
    const metrics = byId("batch-metrics").value.trim();
    if (metrics) data.append("metrics", metrics);
    data.append("explain", byId("batch-explain").checked ? "true" : "false");
    State.warn("");
    byId("batch-status").replaceChildren(el("p", { class: "faint" }, say("live_uploading")));
    byId("batch-send").disabled = true;
    try {
      current = await State.ask("batch", { method: "POST", body: data });
      await follow();
    } catch (error) { byId("batch-status").replaceChildren(); State.failed(error); }
    if (byId("batch-send")) byId("batch-send").disabled = false;
  }

  async function follow() {
    while (current) {
      render();
      if (!["waiting", "running"].includes(current.status)) { State.tell(current.status === "done" ? say("live_done") : say("live_failed", current.error || current.status)); return; }
      await new Promise((resolve) => { setTimeout(resolve, EVERY); });
      if (current) current = await State.ask(`batch/${current.id}`);
    }
  }

  async function stop() {
    const { id } = current;
    current = null;
    byId("batch-status").replaceChildren();
    await State.ask(`batch/${id}`, { method: "DELETE" }).catch(State.failed);
  }

  function scores() {
    const rows = Object.entries(current.scores).map(([name, score]) => el("tr", {}, el("th", { scope: "row" }, name, score.direction === "lower" ? el("span", { class: "tag" }, say("lower")) : null),
      el("td", { class: "count" }, score.value === null ? say("undefined") : number(score.value)), el("td", { class: "count" }, String(score.count))));
    return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("table") }, el("table", { class: "matches", id: "batch-scores" }, el("thead", {}, el("tr", {}, ["metric", "live_score", "captions"].map((key, place) => el("th", { scope: "col", class: place ? "count" : "" }, say(key))))), el("tbody", {}, rows)));
  }

  function render() {
    const box = byId("batch-status");
    if (!box) return;
    const parts = [el("progress", { id: "batch-progress", max: current.captions, value: current.done, "aria-label": say("live_progress", current.done, current.captions) }), el("p", {}, say("live_progress", current.done, current.captions))];
    if (current.status === "done") {
      parts.push(el("p", { class: "downloads" }, ["jsonl", "csv"].map((ending) => el("a", { class: "step", id: `download-${ending}`, href: `batch/${current.id}/scores.${ending}`, download: `scores.${ending}` }, say("live_download", `scores.${ending}`)))), scores());
      if (current.problems.length) parts.push(el("details", {}, el("summary", {}, `${say("problems")} (${current.problems.length})`), el("ul", {}, current.problems.map((text) => el("li", {}, text)))));
    } else if (current.error) parts.push(el("p", { class: "notice" }, say("live_failed", current.error)));
    else parts.push(el("button", { type: "button", class: "plain-button", id: "batch-stop", onclick: stop }, say("live_cancel")));
    box.replaceChildren(el("div", { class: "card" }, parts));
  }

  function show(section) {
    const field = (id, key, node) => el("div", { class: "field" }, el("label", { for: id }, say(key)), node);
    section.replaceChildren(
      el("div", { class: "hero" }, el("h1", {}, say("live_batch")), el("p", { class: "faint" }, say("live_batch_lead"))),
      el("form", { class: "card batch", onsubmit: send },
        field("batch-file", "live_file", el("input", { type: "file", id: "batch-file", accept: ".jsonl,.json,.csv,.tsv" })),
        field("batch-photos", "live_photos", el("input", { type: "file", id: "batch-photos", accept: "image/*", multiple: true })),
        field("batch-metrics", "live_metrics", el("input", { type: "text", id: "batch-metrics", placeholder: "cider-d,spice,vifidel", autocomplete: "off", spellcheck: "false" })),
        el("label", { class: "choice", for: "batch-explain" }, el("input", { type: "checkbox", id: "batch-explain" }), el("span", {}, say("live_reasons"))),
        el("button", { type: "submit", id: "batch-send", class: "main-button" }, say("live_send"))),
      el("div", { id: "batch-status" }));
    if (current) render();
  }

  return { show };
})();
