// Data of the report: scripts beside the page hand over compressed JSON, loaded when it is needed.
"use strict";

const vericapReport = (() => {
  const waiting = new Map();
  const loaded = new Map();
  const KEPT = 60; // chunks of reasons and thumbnails held at once

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function put(name, text) {
    const entry = waiting.get(name);
    waiting.delete(name);
    if (entry) unpack(text).then(entry.resolve, entry.reject);
  }

  function load(name) {
    if (loaded.has(name)) return loaded.get(name);
    const found = new Promise((resolve, reject) => {
      const script = document.createElement("script");
      waiting.set(name, { resolve, reject });
      script.src = `data/${name}.js`;
      script.onload = () => script.remove();
      script.onerror = () => reject(new Error(`data/${name}.js`));
      document.head.append(script);
    });
    loaded.set(name, found);
    if (loaded.size > KEPT) {
      for (const old of loaded.keys()) {
        if (/^(why|thumbs)-/.test(old) && old !== name) { loaded.delete(old); break; }
      }
    }
    return found;
  }

  const number = (value, digits) => String(value).padStart(digits, "0");
  const head = {};
  const rows = {};

  async function start() {
    Object.assign(head, await load("head"));
    return head;
  }

  async function all() {
    if (rows.text) return rows;
    const [columns, photos] = await Promise.all([load("rows"), load("photos")]);
    const count = columns.text.length;
    const siblings = columns.ids.map(() => []);
    for (let row = 0; row < count; row += 1) siblings[columns.item[row]].push(row);
    const lower = columns.text.map((text) => text.toLowerCase());
    const weakWords = columns.weak.map((spans, row) => {
      if (!spans.length) return [];
      const letters = Array.from(lower[row]);
      const found = [];
      for (let at = 0; at < spans.length; at += 2) found.push(letters.slice(spans[at], spans[at + 1]).join(""));
      return found;
    });
    Object.assign(rows, columns, { count, siblings, lower, weakWords, photos, sorted: new Map() });
    return rows;
  }

  // The share of captions that a score is better than.
  function percentile(metric, value) {
    if (!rows.sorted.has(metric.name)) {
      rows.sorted.set(metric.name, Float64Array.from(rows.scores[metric.name].filter((v) => v !== null)).sort());
    }
    const own = rows.sorted.get(metric.name);
    if (own.length < 2) return null;
    let below = 0;
    let upto = 0;
    for (const other of own) { if (other < value) below += 1; if (other <= value) upto += 1; }
    const worse = metric.lower ? own.length - upto : below;
    return Math.round((100 * worse) / (own.length - 1));
  }

  async function reasons(row) {
    const size = head.chunks.why;
    return (await load(`why-${number(Math.floor(row / size), 5)}`))[row % size];
  }

  async function thumbnail(photo) {
    const size = head.chunks.thumbs;
    const data = (await load(`thumbs-${number(Math.floor(photo / size), 4)}`))[photo % size];
    return data ? `data:image/webp;base64,${data}` : "";
  }

  return { put, start, all, percentile, reasons, thumbnail, head, rows };
})();
