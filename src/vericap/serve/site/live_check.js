// One caption, judged while typing pauses.
"use strict";

const Check = (() => {
  const { el } = Draw;
  const say = Words.say;
  const PAUSE = 450; // milliseconds without a key before the caption is sent
  let photo = null; // { file, link, size, name }
  let texts = { caption: "", references: "" };
  let chosen = new Set();
  let known = { metrics: [], limits: {} };
  let waits = 0;
  let running = null;
  let last = null; // what was found last, to be drawn anew in another language
  const byId = (id) => document.getElementById(id);

  // --- the photo ---

  async function take(file) {
    if (!file) return;
    if (!file.type.startsWith("image/")) { State.warn(say("live_not_photo", file.name || file.type)); return; }
    const most = known.limits.photo_bytes;
    if (most && file.size > most) { State.warn(say("live_too_large", (file.size / 1048576).toFixed(1), Math.floor(most / 1048576))); return; }
    const link = URL.createObjectURL(file);
    const size = await sizeOf(link);
    if (!size) { URL.revokeObjectURL(link); State.warn(say("live_not_photo", file.name)); return; }
    if (photo) URL.revokeObjectURL(photo.link);
    photo = { file, link, size, name: file.name };
    State.warn("");
    preview();
    judge();
  }

  const sizeOf = (link) => new Promise((resolve) => {
    const image = new Image();
    image.onload = () => resolve([image.naturalWidth, image.naturalHeight]);
    image.onerror = () => resolve(null);
    image.src = link;
  });

  function remove() {
    if (photo) URL.revokeObjectURL(photo.link);
    photo = null;
    preview();
    judge();
    byId("photo-file").focus();
  }

  function preview() {
    const zone = byId("drop");
    zone.classList.toggle("filled", Boolean(photo));
    byId("drop-shown").replaceChildren(...(photo ? [el("img", { src: photo.link, alt: say("live_photo"), width: photo.size[0], height: photo.size[1] })] : []));
    byId("drop-text").textContent = photo ? say("live_other") : say("live_drop");
    byId("photo-remove").hidden = !photo;
    fit();
  }

  // --- what is sent ---

  const lines = () => texts.references.split("\n").map((line) => line.trim()).filter(Boolean);
  const lacks = (metric) => {
    if (!photo && metric.needs.some((need) => need !== "references")) return "live_needs_image";
    return metric.needs.includes("references") && !lines().length ? "live_needs_references" : "";
  };

  function form() {
    const data = new FormData();
    data.append("caption", texts.caption);
    for (const line of lines()) data.append("references", line);
    for (const metric of known.metrics) if (chosen.has(metric.name) && !lacks(metric)) data.append("metrics", metric.name);
    if (photo) data.append("image", photo.file, "photo");
    return data;
  }

  async function judge() {
    clearTimeout(waits);
    if (running) running.abort();
    const box = byId("result");
    if (!texts.caption.trim()) { running = null; last = null; status(""); empty(box); return; }
    const own = new AbortController();
    running = own;
    const begun = performance.now();
    status(say("live_working"));
    box.setAttribute("aria-busy", "true");
    try {
      const found = await State.ask("view", { method: "POST", body: form(), signal: own.signal });
      if (running !== own) return;
      State.warn("");
      if (found.hint) { last = null; status(""); hint(box, found.hint); return; }
      last = { found, photo };
      State.draw(box, found, photo);
      status(say("live_ready", ((performance.now() - begun) / 1000).toFixed(2)));
      document.body.dataset.judged = String(Number(document.body.dataset.judged || 0) + 1);
    } catch (error) {
      if (error.name === "AbortError" || running !== own) return;
      status("");
      State.failed(error);
      if (error.wait) waits = setTimeout(judge, 1000 * error.wait);
    } finally { if (running === own) box.removeAttribute("aria-busy"); }
  }

  const later = () => { clearTimeout(waits); waits = setTimeout(judge, PAUSE); };
  const status = (text) => { byId("status").textContent = text; };
  const hint = (box, text) => box.replaceChildren(el("p", { class: "faint hint" }, text));
  const empty = (box) => hint(box, say("live_start"));

  // --- the form ---

  function dropZone() {
    const file = el("input", { type: "file", id: "photo-file", accept: "image/*", class: "unseen", onchange: () => take(file.files[0]) });
    return el("div", { class: "drop", id: "drop" },
      el("div", { id: "drop-shown", class: "drop-shown" }), file,
      el("label", { for: "photo-file", id: "drop-text" }, say("live_drop")),
      el("button", { type: "button", id: "photo-remove", class: "plain-button", hidden: true, onclick: remove }, say("live_remove")));
  }

  function area(id, key, name, rows, extra) {
    const node = el("textarea", { id, rows, oninput: () => { texts[name] = node.value; fit(); later(); }, ...extra });
    node.value = texts[name];
    return el("div", { class: "field" }, el("label", { for: id }, say(key)), node);
  }

  function chooser() {
    const box = (metric) => {
      const node = el("input", { type: "checkbox", id: `metric-${metric.name}`, onchange: () => { if (node.checked) chosen.add(metric.name); else chosen.delete(metric.name); judge(); } });
      node.checked = chosen.has(metric.name);
      return el("label", { class: "choice", for: `metric-${metric.name}`, title: metric.about }, node, el("span", {}, metric.name), el("small", { class: "faint", "data-metric": metric.name }));
    };
    return el("details", { class: "chooser", id: "chooser" }, el("summary", {}, say("live_more")), el("div", { class: "choices" }, known.metrics.map(box)));
  }

  // Metrics that lack what they look at cannot be chosen, and say why.
  function fit() {
    for (const metric of known.metrics) {
      const why = lacks(metric);
      const node = byId(`metric-${metric.name}`);
      if (!node) continue;
      node.disabled = Boolean(why);
      node.parentElement.querySelector("small").textContent = why ? say(why) : "";
    }
  }

  function strip() {
    const photos = [...new Set(Examples.list().map((entry) => entry.photo))];
    return el("div", { class: "tries" }, el("span", { class: "faint" }, say("live_try")), photos.map((name) => {
      const entry = Examples.list().find((one) => one.photo === name && one.system === "inventive") || Examples.list().find((one) => one.photo === name);
      return el("a", { href: State.link("check", { example: entry.id }) }, el("img", { src: `examples/${name}`, alt: say("live_example", name.replace(/\..*/, "")), width: 64, height: 48 }));
    }));
  }

  function show(section, state) {
    const held = document.activeElement && document.activeElement.id;
    section.replaceChildren(
      el("div", { class: "hero" }, el("h1", {}, say("live_title")), el("p", { class: "faint" }, say("live_lead"))),
      el("form", { class: "card live", id: "live", onsubmit: (event) => { event.preventDefault(); judge(); } },
        dropZone(),
        el("div", { class: "fields" }, area("caption-text", "live_caption", "caption", 2, { placeholder: say("live_caption_hint"), autocomplete: "off" }), area("references-text", "live_references", "references", 2, {}), chooser()),
        strip()),
      el("p", { id: "status", class: "faint", role: "status" }),
      el("div", { id: "result", class: "result" }));
    preview();
    if (last && texts.caption.trim()) State.draw(byId("result"), last.found, last.photo); else empty(byId("result"));
    if (held && byId(held)) byId(held).focus();
    if (state.example) example(state.example).catch(State.failed);
  }

  async function example(id) {
    const entry = Examples.list().find((one) => one.id === id);
    if (!entry) return;
    texts = { caption: entry.caption, references: entry.references.join("\n") };
    byId("caption-text").value = texts.caption;
    byId("references-text").value = texts.references;
    const answer = await fetch(`examples/${entry.photo}`);
    window.history.replaceState(null, "", "#check");
    await take(new File([await answer.blob()], entry.photo, { type: "image/jpeg" }));
  }

  // --- dropping and pasting, anywhere on the page ---

  function listen() {
    const here = () => State.now().view === "check";
    document.addEventListener("dragover", (event) => { if (here()) { event.preventDefault(); byId("drop").classList.add("over"); } });
    document.addEventListener("dragleave", () => { if (here()) byId("drop").classList.remove("over"); });
    document.addEventListener("drop", (event) => { if (here()) { event.preventDefault(); byId("drop").classList.remove("over"); take(event.dataTransfer.files[0]).catch(State.failed); } });
    document.addEventListener("paste", (event) => {
      const file = [...event.clipboardData.files].find((one) => one.type.startsWith("image/"));
      if (here() && file) { event.preventDefault(); take(file).catch(State.failed); }
    });
  }

  const use = (found) => { known = found; };
  return { show, listen, use };
})();

// Photos and captions that ship.
const Examples = (() => {
  const { el } = Draw;
  const say = Words.say;
  let entries = [];

  function show(section) {
    const photos = [...new Set(entries.map((entry) => entry.photo))];
    section.replaceChildren(
      el("div", { class: "hero" }, el("h1", {}, say("live_examples")), el("p", { class: "faint" }, say("live_examples_lead"))),
      el("ul", { class: "examples" }, photos.map((name) => el("li", { class: "card" },
        el("img", { src: `examples/${name}`, alt: say("photo_of", name.replace(/\..*/, "")), loading: "lazy" }),
        el("ul", { class: "plain" }, entries.filter((entry) => entry.photo === name).map((entry) => el("li", {},
          el("a", { href: State.link("check", { example: entry.id }), lang: "en" }, entry.caption), el("span", { class: "faint" }, say(`live_${entry.system}`)))))))));
  }

  const use = (found) => { entries = found; };
  const list = () => entries;
  return { show, use, list };
})();
