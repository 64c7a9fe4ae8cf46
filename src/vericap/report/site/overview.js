// The first view: scores with intervals and tests, distributions, duels, findings.
"use strict";

const Overview = (() => {
  const { el, svg, number } = Draw;
  const say = Words.say;
  const ASPECTS = ["verdict", "fidelity", "adequacy", "fluency", "references"];
  const head = vericapReport.head;

  const key = (name, series) => el("span", { class: "key" }, svg("svg", { viewBox: "0 0 22 8", class: "swatch", "aria-hidden": "true" }, svg("path", { d: "M0 4H22", class: `steps s${series}` })), name);
  const legend = () => (head.systems.length > 1 ? el("p", { class: "legend" }, head.systems.map(key)) : null);

  // The verdict and its three questions for one system.
  function answers(series) {
    const own = ASPECTS.map((aspect) => head.metrics.find((metric) => metric.name.split(":")[0] === aspect)).filter((metric) => metric && metric.systems[series].value !== null);
    return own.length ? el("span", { class: "minis" }, own.map((metric) => { const { value } = metric.systems[series]; return el("span", { class: "mini" }, el("span", { class: "name" }, say(metric.aspect)), el("span", { class: "value" }, number(value, 2)), el("span", { class: "bar", "aria-hidden": "true" }, el("span", { style: { width: `${100 * Math.min(1, Math.max(0, value))}%` } }))); })) : null;
  }

  function glance() {
    if (!head.judges.length) return null;
    const each = head.captions / head.systems.length;
    return el("section", { "aria-label": say("glance") }, el("div", { class: "glance" },
      head.systems.map((name, series) => {
        const share = Math.round((100 * head.flawed[series]) / each);
        return el("a", { class: "card stat", href: State.link("captions", { system: head.systems.length > 1 ? name : "", weak: "*", sort: "weak" }) },
          head.systems.length > 1 ? el("span", { class: "who" }, key(name, series)) : null,
          el("strong", {}, `${share} %`), el("span", {}, say("glance")),
          el("span", { class: "meter", "aria-hidden": "true" }, el("span", { style: { width: `${share}%` } })), answers(series));
      })),
      el("p", { class: "faint" }, say("glance_by", head.judges.join(", "))));
  }

  function cell(metric, score, series, low, high, best) {
    if (score.value === null) return el("td", { class: "score" }, el("span", { class: "faint", title: score.reason }, say("undefined")));
    const interval = score.interval && score.interval[0] !== null ? say("interval", number(score.interval[0]), number(score.interval[1])) : "";
    const ahead = score.star ? (metric.lower ? score.difference < 0 : score.difference > 0) : null;
    const mark = score.star ? el("span", { class: ahead ? "up" : "down", role: "img", "aria-label": say(ahead ? "better" : "worse", head.test.baseline), title: say(ahead ? "better" : "worse", head.test.baseline) }, ahead ? "▲" : "▼") : null;
    return el("td", { class: "score", title: interval }, el("span", { class: best ? "value best" : "value" }, number(score.value)), mark, Draw.track(score, low, high, series), el("span", { class: "unseen" }, interval));
  }

  function line(metric) {
    const values = metric.systems.map((own) => own.value).filter((value) => value !== null);
    const ends = metric.systems.flatMap((own) => (own.value === null ? [] : [own.value, ...(own.interval || []).filter((v) => v !== null)]));
    // One system alone stands on the metric's whole scale; several on one where their differences are seen.
    if (head.systems.length === 1) ends.push(metric.range[0] === null ? metric.edges[0] : metric.range[0], metric.range[1] === null || metric.range[1] > 3 ? metric.edges[1] : metric.range[1]);
    const best = metric.lower ? Math.min(...values) : Math.max(...values);
    const counts = new Set(metric.systems.map((own) => own.count));
    return el("tr", {},
      el("th", { scope: "row" }, el("a", { href: State.link("captions", { sort: metric.name }) }, metric.name),
        metric.lower ? el("span", { class: "tag" }, say("lower")) : null,
        el("details", { class: "signature" }, el("summary", {}, metric.short || say("signature")), el("code", {}, metric.signature))),
      metric.systems.map((own, series) => cell(metric, own, series, Math.min(...ends), Math.max(...ends), head.systems.length > 1 && own.value === best)),
      el("td", { class: "count" }, [...counts].join(" / ")));
  }

  function table() {
    const groups = ASPECTS.map((aspect) => [aspect, head.metrics.filter((metric) => metric.aspect === aspect)]).filter(([, own]) => own.length);
    const test = head.test;
    return el("section", { "aria-labelledby": "scores-title" }, el("h2", { id: "scores-title" }, say("scores")), legend(),
      el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("table") },
        el("table", { id: "summary", class: "card" },
          el("thead", {}, el("tr", {}, el("th", { scope: "col" }, say("metric")), head.systems.map((name, series) => el("th", { scope: "col" }, head.systems.length > 1 ? key(name, series) : name)), el("th", { scope: "col", class: "count" }, say("captions")))),
          groups.map(([aspect, own]) => el("tbody", {},
            el("tr", { class: "aspect" }, el("th", { colspan: head.systems.length + 2, scope: "rowgroup" }, say(aspect), el("span", { class: "faint" }, say(`ask_${aspect}`)))), own.map(line))))),
      test ? el("p", { class: "faint" }, say("star", test.baseline, test.level, test.test, test.resamples, test.adjustment, test.captions)) : null);
  }

  function distributions() {
    return el("section", { "aria-labelledby": "distributions-title" }, el("h2", { id: "distributions-title" }, say("distributions")), legend(),
      el("div", { class: "multiples" }, head.metrics.map((metric) => el("figure", { class: "card" },
        el("figcaption", {}, metric.name, metric.lower ? el("span", { class: "tag" }, say("lower")) : null), Draw.histogram(metric, head.systems)))));
  }

  function duel(metric, series) {
    const own = metric.systems[series];
    const total = own.wins[0] + own.wins[1] + own.wins[2] || 1;
    const kinds = ["wins", "ties", "losses"];
    const said = kinds.map((kind, place) => `${own.wins[place]} ${say(kind)}`).join(", ");
    const bar = el("span", { class: "duel", role: "img", "aria-label": said, title: said }, kinds.map((kind, place) => (own.wins[place] ? el("span", { class: kind, style: { "flex-grow": String(own.wins[place] / total) } }, own.wins[place] / total > 0.08 ? String(own.wins[place]) : "") : null)));
    const gap = own.difference === null || own.difference === undefined ? "–" : (own.difference > 0 ? "+" : "") + own.difference.toFixed(3);
    const p = own.adjusted === null || own.adjusted === undefined ? "–" : own.adjusted < 0.001 ? "< .001" : own.adjusted.toFixed(3);
    const name = head.systems[series];
    return el("tr", {}, el("th", { scope: "row" }, el("a", { href: State.link("captions", { sort: `gap:0:${series}:${metric.name}`, system: name }) }, metric.name)), el("td", { class: "long" }, bar), el("td", { class: "count gap" }, gap), el("td", { class: own.star ? "count strong" : "count" }, p));
  }

  function duels() {
    if (!head.test) return null;
    return el("section", { "aria-labelledby": "duels-title" }, el("h2", { id: "duels-title" }, say("duels", head.test.baseline)),
      el("p", { class: "legend" }, ["wins", "ties", "losses"].map((kind) => el("span", { class: "key" }, el("span", { class: `chip ${kind}`, "aria-hidden": "true" }), say(kind)))),
      el("div", { class: "pair" }, head.systems.slice(1).map((name, place) => el("div", { class: "card" }, el("h3", {}, key(name, place + 1)),
        el("table", { class: "duels" }, el("thead", {}, el("tr", {}, ["metric", "wins", "difference", "adjusted"].map((what, column) => el("th", { scope: "col", class: column > 2 ? "count" : column > 1 ? "count gap" : "" }, column === 1 ? `${say("wins")} / ${say("ties")} / ${say("losses")}` : say(what))))),
          el("tbody", {}, head.metrics.filter((metric) => metric.systems[place + 1].wins).map((metric) => duel(metric, place + 1))))))));
  }

  function ranking(title, words, filter, kind) {
    const most = Math.max(1, ...words.map(([, counts]) => counts.reduce((a, b) => a + b, 0)));
    const rows = words.slice(0, 15).map(([word, counts]) => {
      const total = counts.reduce((a, b) => a + b, 0);
      return el("li", {}, el("a", { href: State.link("captions", { [filter]: word }) }, el("span", { class: kind }, word)),
        el("span", { class: "stack", "aria-hidden": "true" }, counts.map((count, series) => (count ? el("span", { class: `fill s${series}`, style: { width: `${(100 * count) / most}%` } }) : null))),
        el("span", { class: "count" }, el("span", { class: "unseen" }, say("in_captions", "")), String(total)));
    });
    const none = el("p", { class: "faint" }, filter === "weak" && !head.judges.length ? say("no_judge") : say("none"));
    return el("div", { class: "card" }, el("h3", {}, title), rows.length ? el("ol", { class: "ranking" }, rows) : none);
  }

  function disagree(rows) {
    if (!rows || !head.disagree.length) return null;
    return el("div", { class: "card" }, el("h3", {}, say("disagree")), el("ul", { class: "plain" }, head.disagree.slice(0, 8).map(([row, high, up, low, down]) => el("li", {},
      el("a", { href: State.link("caption", { row: State.named(rows, row) }) }, Draw.cut(rows.text[row] || say("empty"), 110)),
      el("span", { class: "faint" }, `${head.systems.length > 1 ? `${head.systems[rows.system[row]]} · ` : ""}${say("disagree_row", high, Math.round(100 * up), low, Math.round(100 * down))}`)))));
  }

  function problems(rows) {
    if (!rows) return null;
    const own = Object.entries(rows.problem);
    if (!own.length && !head.problems.length) return null;
    return el("div", { class: "card" }, el("h3", {}, el("a", { href: State.link("captions", { problem: "1" }) }, `${say("problems")} (${own.length + head.problems.length})`)),
      el("ul", { class: "plain" }, own.slice(0, 8).map(([row, why]) => el("li", {}, el("a", { href: State.link("caption", { row: State.named(rows, Number(row)) }) }, head.systems.length > 1 ? `${head.systems[rows.system[row]]} · ${rows.ids[rows.item[row]]}` : rows.ids[rows.item[row]]), el("span", { class: "faint" }, why))),
        head.problems.slice(0, 8).map((text) => el("li", {}, el("span", { class: "faint" }, text)))));
  }

  function show(section, rows) {
    const counts = head.systems.length > 1 ? say("counts", head.captions, head.systems.length) : say("count_one", head.captions);
    section.replaceChildren(
      el("div", { class: "hero" }, el("h1", {}, head.title), el("p", { class: "faint" }, `${counts} · ${say("made", head.made, head.version)}`)),
      ...[glance(), table(), duels(),
        el("section", { "aria-labelledby": "findings-title" }, el("h2", { id: "findings-title" }, say("findings")), el("div", { class: "masonry" },
          ranking(say("weak_words"), head.weak, "weak", "weak"), ranking(say("gone_words"), head.gone, "gone", "gone"), disagree(rows), problems(rows))),
        distributions(),
        head.notes.length ? el("section", {}, el("details", {}, el("summary", {}, `${say("notes")} (${head.notes.length})`), el("ul", {}, head.notes.map((text) => el("li", {}, text))))) : null].filter(Boolean));
  }

  return { show, key };
})();
