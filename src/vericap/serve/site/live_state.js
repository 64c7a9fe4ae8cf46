// Which view is shown, and what the report's scripts ask of the page they are on.
"use strict";

const State = (() => {
  const VIEWS = ["check", "examples", "batch", "scores", "score"];
  const byId = (id) => document.getElementById(id);

  function now() {
    const [view, query = ""] = window.location.hash.slice(1).split(/\?(.*)/s);
    return { ...Object.fromEntries(new URLSearchParams(query)), view: VIEWS.includes(view) ? view : "check" };
  }

  function link(view, values) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(values || {})) if (name !== "view" && value) query.set(name, value);
    const text = query.toString();
    return text ? `#${view}?${text}` : `#${view}`;
  }
  const go = (view, values) => { window.location.hash = link(view, values); };

  const tell = (text) => { byId("told").textContent = text; };
  function warn(text) { byId("notice").textContent = text; byId("notice").hidden = !text; }
  const failed = (error) => warn(error instanceof TypeError ? Words.say("live_gone") : error.message);
  const named = (rows, row) => `${rows.system[row]}.${rows.ids[rows.item[row]]}`;

  // An answer of the server; what it refuses is an error with its sentence.
  async function ask(address, options) {
    const answer = await fetch(address, options);
    const found = answer.status === 204 ? null : await answer.json().catch(() => ({}));
    if (!answer.ok) throw Object.assign(new Error((found && found.error) || `${answer.status} ${answer.statusText}`), { status: answer.status, wait: Number(answer.headers.get("Retry-After")) || 0 });
    return found;
  }

  // The report's view of one caption, filled with what the server found.
  function draw(box, found, photo) {
    const { el } = Draw;
    Object.assign(vericapReport.head, found.head);
    const rows = Object.assign(vericapReport.rows, found.rows, {
      count: 1, weakWords: [[]], sorted: new Map(),
      photo: [photo ? 0 : -1], photos: { links: [photo ? photo.link : ""], sizes: [photo ? photo.size : [4, 3]] },
    });
    Words.basis(found.head.looked || !found.head.judges.length);
    const parts = Caption.content(rows, 0, found.detail, {});
    Words.basis(true);
    box.replaceChildren(el("div", { class: "one" }, parts));
  }

  return { VIEWS, now, link, go, tell, warn, failed, named, ask, draw };
})();
