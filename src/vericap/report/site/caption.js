// One caption: the photo with the regions of its words, the words with what supports them, and every metric's reasons.
"use strict";

const Caption = (() => {
  const { el, svg, number } = Draw;
  const say = Words.say;
  const head = vericapReport.head;
  const WEAK = 0.3; // grade below which a match is drawn as none
  const VERDICT = ["verdict", "fidelity", "adequacy", "fluency"];
  const BOXES = ["verdict", "fidelity", "chair", "vifidel", "reo-relevance", "faier-plus", "faier"]; // whose regions are drawn first
  const SMALL = new Set("and are but for from her his its off out over that the their them they this was were with into onto near some something".split(" "));
  let chosen = ""; // whose evidence colours the words; empty: all metrics together
  let around = [-1, -1]; // rows before and after

  // Metrics that say the same speak with one voice, that of the one that is believed first.
  const voice = (reason) => [...reason.by].sort((a, b) => first(a) - first(b))[0];
  const first = (name) => { const place = BOXES.indexOf(name.split(":")[0]); return place < 0 ? BOXES.length : place; };

  // --- photo ---

  function photo(rows, row) {
    const number_ = rows.photo[row];
    if (number_ < 0) return el("div", { class: "photo card none" }, el("p", { class: "faint" }, say("no_photo")));
    const [wide, tall] = rows.photos.sizes[number_];
    const link = rows.photos.links[number_];
    const image = el("img", { alt: say("photo_of", rows.ids[rows.item[row]]), width: wide, height: tall, id: "photo" });
    const frames = svg("svg", { viewBox: "0 0 1000 1000", preserveAspectRatio: "none", class: "frames", id: "frames", "aria-hidden": "true" });
    const note = el("p", { class: "faint", hidden: true }, say("thumbnail_only"));
    const small = () => vericapReport.thumbnail(number_).then((source) => {
      note.hidden = false;
      if (source) image.src = source; else image.replaceWith(el("p", { class: "faint" }, say("no_photo")));
    }, State.failed);
    image.addEventListener("error", small, { once: true });
    if (link) image.src = link; else small();
    return el("div", { class: "photo" }, el("div", { class: "holder" }, image, frames), note);
  }

  function outline(boxes, text, kind) {
    const frames = document.getElementById("frames");
    if (!frames) return;
    frames.replaceChildren(...boxes.filter(Boolean).map(([x0, y0, x1, y1], place) => svg("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, class: `region ${kind} ${place ? "second" : ""}` })));
    const label = document.getElementById("region-name");
    if (label) label.textContent = boxes.some(Boolean) ? text : "";
  }

  // --- words ---

  // Evidence by word: span -> entries of [metric, support, source, box], those that are believed first in front.
  function evidence(reasons) {
    const spans = new Map();
    for (const reason of reasons) {
      for (const [start, end, support, source, box, low] of reason.words || []) {
        const key = `${start}-${end}`;
        if (!spans.has(key)) spans.set(key, { start, end, entries: [], marks: [] });
        spans.get(key).entries.push({ name: voice(reason), support, source, box, low: Boolean(low) });
      }
    }
    const marks = reasons.flatMap((reason) => reason.marks || []);
    for (const span of spans.values()) {
      span.entries.sort((a, b) => first(a.name) - first(b.name));
      span.marks = marks.filter(([start, end]) => start < span.end && span.start < end);
    }
    return [...spans.values()].sort((a, b) => a.start - b.start || b.end - a.end);
  }

  function weak(rows, row, span) {
    if (chosen) return span.entries.some((one) => one.name === chosen && one.low);
    const spans = rows.weak[row];
    for (let at = 0; at < spans.length; at += 2) if (spans[at] === span.start && spans[at + 1] === span.end) return true;
    return false;
  }

  function tellWord(text, span, isWeak) {
    const used = chosen ? span.entries.filter((one) => one.name === chosen) : span.entries;
    const boxes = used.map((one) => one.box).filter(Boolean);
    outline(boxes.slice(0, 1), text, isWeak ? "wrong" : "");
    const judged = used.filter((one) => one.support !== null);
    const box = document.getElementById("evidence");
    box.replaceChildren(el("strong", { class: isWeak ? "weak" : "" }, text), ...(isWeak ? [el("span", { class: "tag alert" }, say("not_supported"))] : []),
      ...span.marks.map(([, , why, chance]) => el("span", { class: "tag odd" }, `${why} (${Math.round(100 * chance)} %)`)),
      ...(judged.length ? judged.map((one) => el("span", { class: one.low ? "pill wrong" : "pill" }, el("span", {}, one.name), el("b", {}, one.support.toFixed(2)), one.source ? el("small", {}, say(`source_${one.source}`)) : null)) : [el("span", { class: "faint" }, say("word_none"))]));
  }

  function words(rows, row, spans) {
    const letters = Array.from(rows.text[row]);
    const parts = [];
    let done = 0;
    for (const span of spans) {
      if (span.start < done) continue;
      const text = letters.slice(span.start, span.end).join("");
      const isWeak = weak(rows, row, span);
      const show = () => tellWord(text, span, isWeak);
      parts.push(letters.slice(done, span.start).join(""),
        el("button", { type: "button", class: isWeak ? "word weak" : span.marks.length ? "word odd" : "word", onmouseenter: show, onfocus: show, onclick: show, "aria-describedby": "evidence" }, text, isWeak ? el("span", { class: "unseen" }, ` (${say("not_supported")})`) : null));
      done = span.end;
    }
    return [...parts, letters.slice(done).join("")];
  }

  // Words of a reference that name what the caption left out.
  function missingIn(text, missing, said) {
    const stem = (word) => word.toLowerCase().replace(/(?<=...)(ing|es|ed|s)$/u, "");
    const wanted = new Set(missing.flatMap((one) => one.toLowerCase().split(/[^\p{L}\p{N}']+/u)).map(stem).filter((word) => word.length > 2 && !SMALL.has(word) && !said.has(word)));
    return text.split(/([\p{L}\p{N}']+)/u).map((part, place) => {
      const here = place % 2 === 1 && (wanted.has(stem(part)) || (/[^\u0000-\u2e7f]/.test(part) && missing.some((one) => one.length > 1 && part.includes(one) && !said.has(one))));
      return here ? el("mark", { class: "gone" }, part) : part;
    });
  }

  // --- scores ---

  // The verdict and its three questions beside the photo.
  function bars(rows, row) {
    const own = VERDICT.map((name) => head.metrics.find((metric) => metric.name.split(":")[0] === name)).filter(Boolean);
    if (!own.length) return null;
    return el("dl", { class: "card bars", id: "bars" }, own.map((metric) => {
      const value = rows.scores[metric.name][row];
      return el("div", { class: metric.aspect }, el("dt", {}, say(metric.aspect)), el("dd", { class: "value" }, value === null ? "–" : number(value, 2)),
        el("dd", { class: "bar", "aria-hidden": "true" }, el("span", { style: { width: `${100 * (value === null ? 0 : Captions.share(metric, value))}%` } })));
    }));
  }

  function scores(rows, row) {
    const groups = ["verdict", "fidelity", "adequacy", "fluency", "references"].map((aspect) => [aspect, head.metrics.filter((own) => own.aspect === aspect)]);
    return el("section", { class: "card panel", "aria-labelledby": "own-scores" }, el("h2", { id: "own-scores" }, say("scores")),
      groups.filter(([, own]) => own.length).map(([aspect, own]) => el("div", { class: `scores ${aspect}` }, el("h3", {}, say(aspect)), own.map((metric) => {
        const value = rows.scores[metric.name][row];
        const share = value === null ? 0 : Captions.share(metric, value);
        const better = value === null ? null : vericapReport.percentile(metric, value);
        const mean = metric.systems[rows.system[row]].value;
        return el("details", { class: "scoreline" }, el("summary", {},
          el("span", { class: "name" }, metric.name, metric.lower ? el("span", { class: "tag" }, say("lower")) : null),
          el("span", { class: "value" }, value === null ? say("undefined") : number(value)),
          el("span", { class: "bar", "aria-hidden": "true" }, el("span", { class: metric.lower ? "low" : "", style: { width: `${100 * share}%` } }), mean === null ? null : el("i", { style: { left: `${100 * Captions.share(metric, mean)}%` } })),
          el("span", { class: "faint" }, better === null ? "" : say("percentile", better))),
        el("p", { class: "faint" }, say("signature"), " ", el("code", {}, metric.signature)));
      }))));
  }

  // --- reasons ---

  const heading = (reason) => reason.by.join(", ");
  const panel = (title, hint, ...children) => el("section", { class: "card panel" }, el("h2", {}, title), hint ? el("p", { class: "faint" }, hint) : null, children);

  function byWord(rows, row, reasons, spans) {
    const lines = reasons.filter((reason) => (reason.words || []).some((word) => word[2] !== null));
    if (!lines.length) return null;
    const letters = Array.from(rows.text[row]);
    const own = spans.filter((span) => span.entries.some((one) => one.support !== null));
    const cells = (reason) => own.map((span) => {
      const found = (reason.words || []).find((word) => word[0] === span.start && word[1] === span.end);
      if (!found || found[2] === null) return el("td", {}, "·");
      return el("td", { class: `heat h${Math.round(10 * Math.min(1, Math.max(0, found[2])))}` }, String(Math.round(100 * found[2])));
    });
    return panel(say("by_word"), say("by_word_hint"), el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("by_word") }, el("table", { class: "byword" },
      el("thead", {}, el("tr", {}, el("td", {}), own.map((span) => el("th", { scope: "col" }, letters.slice(span.start, span.end).join(""))))),
      el("tbody", {}, lines.map((reason) => el("tr", {}, el("th", { scope: "row" }, heading(reason)), cells(reason)))))));
  }

  // Several sentences are judged apart: which of them is at fault?
  function sentences(rows, row, reasons) {
    const letters = Array.from(rows.text[row]);
    return reasons.filter((reason) => (reason.sentences || []).length > 1).map((reason) => panel(`${say("by_sentence")} · ${heading(reason)}`, "", el("ol", { class: "graded" }, reason.sentences.map(([start, end, support]) => graded(letters.slice(start, end).join(""), support, "")))));
  }

  const graded = (text, support, kind) => el("li", {}, el("span", { lang: head.lang }, text), el("span", { class: "faint" }, kind), el("span", { class: "value" }, support === null ? "–" : number(support, 2)),
    el("span", { class: "bar", "aria-hidden": "true" }, el("span", { style: { width: `${100 * (support || 0)}%` } })));

  // What the caption says of things: attributes, numbers, actions, relations; the least supported first.
  function claims(reasons) {
    return reasons.filter((reason) => reason.claims).map((reason) => panel(`${say("claims")} · ${heading(reason)}`, say("claims_hint"), el("ul", { class: "graded" }, [...reason.claims].sort((a, b) => a[2] - b[2]).map(([text, kind, support]) => graded(text, support, kind)))));
  }

  function transports(reasons) {
    return reasons.filter((reason) => reason.moves).map((reason) => panel(`${say("transport")} · ${heading(reason)}`, say(reason.by[0].startsWith("wmd") ? "transport_text" : "transport_image"),
      el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("transport") }, Draw.transport(reason.moves))));
  }

  // Tuples that were matched, as sorted bags of words: "small dog" and (dog, small) are the same.
  function matcher(reason, side) {
    const bag = (parts) => parts.join(" ").toLowerCase().split(/[\s/,]+/).filter(Boolean).sort().join(" ");
    const known = new Set();
    for (const match of reason.matches || []) {
      if (!match[1] || match[2] < 0.5) continue;
      known.add(bag([match[side]]));
      for (const part of match[side].split("/")) known.add(bag([part]));
    }
    return (parts) => known.has(bag(parts));
  }

  function graphs(reasons, references) {
    const figure = (reason, one, place) => {
      const isReference = references.includes(one[0]) && place > 0;
      const caption = isReference ? say("of_reference", references.indexOf(one[0]) + 1) : place === 0 ? say("of_candidate") : "";
      return el("figure", {}, el("figcaption", {}, caption ? el("b", {}, caption) : null, " ", one[0]), el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": one[0] || say("graphs") }, Draw.graph(one, matcher(reason, isReference ? 1 : 0))));
    };
    return reasons.filter((reason) => reason.graphs).map((reason) => {
      const drawn = reason.graphs.filter((one) => one[1].length).map((one, place) => figure(reason, one, place));
      return panel(`${say("graphs")} · ${heading(reason)}`, say("graphs_hint"), el("div", { class: "graphs" }, drawn.slice(0, 2)),
        drawn.length > 2 ? el("details", { class: "more" }, el("summary", {}, say("more_graphs", drawn.length - 2)), el("div", { class: "graphs" }, drawn.slice(2))) : null);
    });
  }

  function matches(reasons) {
    const row = ([own, other, grade, kind, box]) => el("tr", { class: box ? "pointed" : "", tabindex: box ? 0 : null, onmouseenter: () => outline([box], own, grade < WEAK ? "wrong" : ""), onfocus: () => outline([box], own, grade < WEAK ? "wrong" : "") },
      el("td", { class: !other && !box ? "weak" : "" }, own), el("td", {}, other || (box ? say("a_region") : say("nothing_fits"))), el("td", { class: "count" }, grade === null ? "" : grade.toFixed(2)), el("td", { class: "faint" }, kind));
    return reasons.filter((reason) => reason.matches).map((reason) => panel(`${say("matches")} · ${heading(reason)}`, "", el("table", { class: "matches" },
      el("thead", {}, el("tr", {}, ["in_caption", "matched_with", "grade", "kind"].map((key, column) => el("th", { scope: "col", class: column === 2 ? "count" : "" }, say(key))))), el("tbody", {}, reason.matches.map(row)))));
  }

  function heats(reasons) {
    return reasons.filter((reason) => reason.heat).flatMap((reason) => reason.heat.map(([title, columns, values, boxes, low, high]) => panel(`${say("heat")} · ${heading(reason)}`, say("heat_hint", `${title}, ${low} – ${high}`),
      el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": title }, el("table", { class: "byword" },
        el("thead", {}, el("tr", {}, el("td", {}), columns.map((word) => el("th", { scope: "col" }, Draw.cut(word, 40))))),
        el("tbody", {}, values.map((line, place) => el("tr", { tabindex: 0, onmouseenter: () => outline([boxes[place]], say("region"), ""), onfocus: () => outline([boxes[place]], say("region"), "") },
          el("th", { scope: "row" }, boxes[place] ? icon(boxes[place]) : String(place + 1), el("span", { class: "unseen" }, `${say("region")} ${place + 1}`)),
          line.map((value) => el("td", { class: `heat h${Math.round(value / 10)}` }, String(value)))))))))));
  }

  const icon = ([x0, y0, x1, y1]) => svg("svg", { viewBox: "0 0 1000 1000", class: "icon", "aria-hidden": "true" }, svg("rect", { width: 1000, height: 1000, class: "whole" }), svg("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, class: "part" }));

  function ngrams(reasons) {
    return reasons.filter((reason) => (reason.facts || []).some(([name]) => name === "matched") && reason.facts.some(([name]) => name === "ngrams")).map((reason) => {
      const [own, all] = ["matched", "ngrams"].map((what) => reason.facts.find(([name]) => name === what)[1].split(", ").map(Number));
      return panel(`${say("ngrams")} · ${heading(reason)}`, "", el("ul", { class: "ngrams" }, own.map((count, place) => el("li", {}, el("span", { class: "bar", "aria-hidden": "true" }, el("span", { style: { width: `${(100 * count) / (all[place] || 1)}%` } })), el("span", {}, say("ngram_row", count, all[place], place + 1))))));
    });
  }

  function facts(reasons) {
    const shown = reasons.map((reason) => [reason, [...(reason.marks ? [] : reason.notes || []).map((text) => ["", text]), ...(reason.facts || []).filter(([name]) => !["matched", "ngrams"].includes(name))]]).filter(([, own]) => own.length);
    if (!shown.length) return null;
    return panel(say("facts"), "", el("dl", {}, shown.map(([reason, own]) => [el("dt", {}, heading(reason)), own.map(([name, text]) => el("dd", {}, name ? el("span", { class: "faint" }, `${name}: `) : null, text))])));
  }

  // --- the view ---

  function missing(reasons) {
    const found = new Map();
    for (const reason of reasons) for (const [text, weight, source, box] of reason.missing || []) if (!found.has(text)) found.set(text, { text, weight, source, box, by: heading(reason) });
    return [...found.values()];
  }

  const chips = (found) => el("ul", { class: "chips" }, found.map((one) => {
    const point = () => outline([one.box], one.text, "added");
    return el("li", {}, el("button", { type: "button", class: "chip-word", title: `${one.by} · ${one.weight}`, onmouseenter: point, onfocus: point }, el("span", { class: "gone" }, one.text), one.source ? el("small", {}, say(`source_${one.source}`)) : null));
  }));

  function content(rows, row, detail, state) {
    const spans = evidence(detail.reasons);
    const judges = [...new Set(detail.reasons.filter((reason) => reason.words).map(voice))];
    if (chosen && !judges.includes(chosen)) chosen = "";
    const text = el("p", { id: "candidate", class: "candidate", lang: head.lang }, rows.text[row].trim() ? words(rows, row, spans) : el("span", { class: "faint" }, say("empty")));
    const judge = el("select", { id: "judge", onchange: () => { chosen = judge.value; text.replaceChildren(...words(rows, row, spans)); outline([], "", ""); } }, el("option", { value: "" }, say("combined")), judges.map((name) => el("option", { value: name }, name)));
    judge.value = chosen;
    const gone = missing(detail.reasons);
    const said = new Set(rows.lower[row].split(/[^\p{L}\p{N}']+/u).map((word) => word.replace(/(?<=...)(ing|es|ed|s)$/u, "")));
    const counted = rows.gone[row].map((place) => rows.vocabulary[place]);
    const main = gone.filter((one) => one.source === "i" || counted.includes(one.text.toLowerCase()));
    const rest = gone.filter((one) => !main.includes(one));
    const odd = [...new Set(detail.reasons.filter((reason) => reason.marks).flatMap((reason) => reason.notes || []))];
    const others = rows.siblings[rows.item[row]].filter((other) => other !== row);
    return [
      el("div", { class: "left" }, photo(rows, row), el("p", { id: "region-name", class: "regionname", "aria-hidden": "true" }), bars(rows, row)),
      el("div", { class: "right" },
        el("section", { class: "card lead", "aria-labelledby": "candidate-title" },
          el("h1", { id: "candidate-title" }, head.systems.length > 1 ? Overview.key(head.systems[rows.system[row]], rows.system[row]) : say("candidate"), el("span", { class: "faint" }, rows.ids[rows.item[row]])),
          text,
          odd.length ? el("p", { class: "reads" }, el("b", {}, say("reads")), " ", odd.join(" · ")) : null,
          rows.problem[row] !== undefined ? el("p", { class: "notice" }, `${say("problem")}: ${rows.problem[row]}`) : null,
          judges.length ? [el("p", { id: "evidence", class: "evidence", "aria-live": "polite" }, el("span", { class: "faint" }, say("hover"))), el("label", { for: "judge", class: "judge" }, el("span", {}, say("judged_by")), judge)] : null),
        gone.length ? el("section", { class: "card", "aria-labelledby": "gone-title" }, el("h2", { id: "gone-title" }, say("left_out")), chips(main),
          rest.length ? el("details", { class: "more" }, el("summary", {}, say("left_more", rest.length)), chips(rest)) : null) : null,
        detail.references.length ? el("section", { class: "card", "aria-labelledby": "references-title" }, el("h2", { id: "references-title" }, say("reference_texts")),
          el("ol", { class: "reference-list", lang: head.lang }, detail.references.map((one) => el("li", {}, missingIn(one, gone.map((item) => item.text), said))))) : null,
        others.length ? el("section", { class: "card", "aria-labelledby": "others-title" }, el("h2", { id: "others-title" }, say("others")), el("ul", { class: "plain" }, others.map((other) => el("li", {}, el("a", { href: State.link("caption", { ...state, row: State.named(rows, other) }) }, Overview.key(head.systems[rows.system[other]], rows.system[other])), el("span", { lang: head.lang }, Captions.marked(rows.text[other], rows.weak[other])))))) : null),
      el("div", { class: "below" }, [scores(rows, row), sentences(rows, row, detail.reasons), claims(detail.reasons), byWord(rows, row, detail.reasons, spans), transports(detail.reasons), graphs(detail.reasons, detail.references), ngrams(detail.reasons), heats(detail.reasons), matches(detail.reasons), facts(detail.reasons)]),
    ];
  }

  async function show(section, rows, state) {
    const list = Captions.select(rows, state);
    const row = State.row(rows, state.row);
    if (row < 0) { State.go("captions", { ...state, row: "" }); return; }
    const place = list.indexOf(row);
    if (place >= 0) Captions.hold(place);
    around = [place > 0 ? list[place - 1] : -1, place >= 0 && place < list.length - 1 ? list[place + 1] : -1];
    const detail = await vericapReport.reasons(row);
    const step = (target, id, key, arrow) => (target < 0 ? el("span", { class: "step off", id }, arrow === "‹" ? `‹ ${say(key)}` : `${say(key)} ›`) : el("a", { class: "step", id, href: State.link("caption", { ...state, row: State.named(rows, target) }) }, arrow === "‹" ? `‹ ${say(key)}` : `${say(key)} ›`));
    section.replaceChildren(
      el("nav", { class: "steps-bar", "aria-label": say("captions") }, el("a", { id: "back", href: State.link("captions", { ...state, row: "" }) }, say("back")), el("span", { class: "grow" }), el("span", { class: "faint keys" }, say("keys")), step(around[0], "previous", "previous", "‹"), el("span", { id: "place", class: "faint" }, place >= 0 ? say("place", place + 1, list.length) : ""), step(around[1], "next", "next", "›")),
      el("div", { class: "one" }, content(rows, row, detail, state)));
    State.tell(`${place >= 0 ? say("place", place + 1, list.length) : ""} ${rows.text[row]}`);
    for (const near of around) if (near >= 0) vericapReport.reasons(near).catch(State.failed); // the next one opens at once
  }

  function keys(event, state) {
    if (event.target.closest && event.target.closest(".wide") && event.key.startsWith("Arrow")) return; // these scroll a wide picture
    const rows = vericapReport.rows;
    const target = { ArrowLeft: around[0], k: around[0], ArrowRight: around[1], j: around[1] }[event.key];
    if (target !== undefined && target >= 0) { event.preventDefault(); State.go("caption", { ...state, row: State.named(rows, target) }); }
    else if (event.key === "Escape") State.go("captions", { ...state, row: "" });
  }

  return { show, keys, content };
})();
