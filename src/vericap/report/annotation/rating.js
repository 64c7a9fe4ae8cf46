// A rater's work without a screen: the order of captions, answers, undo, and the file they are saved in.
// Plain functions on plain objects; script.js shows them. No modules, because browsers refuse those from disk.
"use strict";

const Rating = (() => {
  const LONGEST_HISTORY = 500;

  // Numbers from 0 to 1 that depend on a text alone (FNV-1a feeds mulberry32), so that a rater who comes back, or
  // opens the page on another computer, meets the captions in the same order.
  function generator(text) {
    let state = 2166136261;
    for (const byte of new TextEncoder().encode(text)) {
      state = Math.imul(state ^ byte, 16777619);
    }
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
  }

  function shuffled(list, random) {
    const found = list.slice();
    for (let last = found.length - 1; last > 0; last -= 1) {
      const other = Math.floor(random() * (last + 1));
      [found[last], found[other]] = [found[other], found[last]];
    }
    return found;
  }

  // The rater's captions in random order. Repeats come at least half the list after the first time, so that they
  // are judged anew and not remembered.
  function order(campaign, rater) {
    const random = generator(`${campaign.seed}/${rater}`);
    const own = campaign.items.flatMap((item, at) => (!item.raters || item.raters.includes(rater) ? [at] : []));
    const first = shuffled(own, random).map((item, at) => ({ item, repeat: false, key: at }));
    const half = Math.ceil(first.length / 2);
    const pool = first.slice(0, Math.max(campaign.repeats, half));
    const again = shuffled(pool, random)
      .slice(0, campaign.repeats)
      .map(({ item, key }) => ({ item, repeat: true, key: key + half + random() * half }));
    return [...first, ...again].sort((a, b) => a.key - b.key).map(({ item, repeat }) => ({ item, repeat }));
  }

  function begin(campaign, rater, now) {
    const places = order(campaign, rater);
    const session = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0"));
    return {
      rater,
      session: session.join(""), // two people with one name stay two raters
      started: now.toISOString(),
      order: places,
      entries: places.map(() => ({ ratings: {}, seconds: {}, skipped: false, comment: "" })),
      place: 0,
      history: [],
      shortcuts: true,
    };
  }

  // Whether a kept state fits the campaign; one that was damaged is not worth a broken page.
  function fits(state, campaign, rater) {
    return Boolean(
      state &&
        state.rater === rater &&
        Array.isArray(state.order) &&
        Array.isArray(state.entries) &&
        Array.isArray(state.history) &&
        state.order.length > 0 &&
        state.order.length === state.entries.length &&
        state.order.every(({ item }) => campaign.items[item] !== undefined) &&
        state.entries.every((entry) => entry && entry.ratings && entry.seconds) &&
        state.place >= 0 &&
        state.place <= state.order.length,
    );
  }

  function remember(state, what) {
    const last = state.history[state.history.length - 1];
    // Moving through a group of answers with the arrow keys is one change.
    if (last && last.place === state.place && last.what === what) return;
    const { ratings, seconds, skipped } = state.entries[state.place];
    const before = { ratings: { ...ratings }, seconds: { ...seconds }, skipped };
    state.history.push({ place: state.place, what, before });
    state.history.splice(0, state.history.length - LONGEST_HISTORY);
  }

  function answer(state, question, rating, seconds) {
    remember(state, question);
    const entry = state.entries[state.place];
    entry.skipped = false;
    entry.ratings[question] = rating;
    entry.seconds[question] = (entry.seconds[question] || 0) + seconds;
  }

  // Skipping takes answers away: half an opinion is none.
  function skip(state, skipped) {
    remember(state, "skip");
    Object.assign(state.entries[state.place], { ratings: {}, seconds: {}, skipped });
  }

  // Takes the last answer back and goes there; false where there is none.
  function undo(state) {
    const last = state.history.pop();
    if (!last) return false;
    Object.assign(state.entries[last.place], last.before); // the comment stays
    state.place = last.place;
    return true;
  }

  const openQuestions = (entry, questions) => questions.filter((name) => entry.ratings[name] === undefined);

  const isDone = (entry, questions) => entry.skipped || openQuestions(entry, questions).length === 0;

  function counts(state, questions) {
    const skipped = state.entries.filter((entry) => entry.skipped).length;
    const done = state.entries.filter((entry) => isDone(entry, questions)).length;
    return { all: state.entries.length, done, skipped, rated: done - skipped, open: state.entries.length - done };
  }

  // One record per answer; a caption that was skipped or only commented on has one without a question.
  function answers(campaign, state) {
    return state.order.flatMap(({ item, repeat }, at) => {
      const { id, caption } = campaign.items[item];
      const { ratings, seconds, skipped, comment } = state.entries[at];
      const told = { id, caption, repeat, skipped, comment };
      const asked = campaign.questions.filter((name) => ratings[name] !== undefined);
      if (!asked.length) return skipped || comment ? [{ ...told, question: null, rating: null, seconds: null }] : [];
      return asked.map((question) => ({
        ...told,
        question,
        rating: ratings[question],
        seconds: Math.round(seconds[question] * 100) / 100,
      }));
    });
  }

  function header(campaign, state, now) {
    const { format, version } = campaign;
    const { rater, session, started } = state;
    return { format, version, campaign: campaign.campaign, rater, session, started, saved: now.toISOString() };
  }

  const json = (campaign, state, now) =>
    `${JSON.stringify({ ...header(campaign, state, now), answers: answers(campaign, state) }, null, 1)}\n`;

  // Every line stands for itself: it names campaign and rater.
  const lines = (campaign, state, now) =>
    answers(campaign, state)
      .map((record) => `${JSON.stringify({ ...header(campaign, state, now), ...record })}\n`)
      .join("");

  // Letters and digits of any script stay; what a file system may refuse becomes a hyphen.
  const fileName = (rater, ending) =>
    `ratings-${rater.replace(/[^\p{L}\p{M}\p{N}_-]+/gu, "-").replace(/^-+|-+$/g, "") || "rater"}.${ending}`;

  return { answer, begin, counts, fileName, fits, isDone, json, lines, openQuestions, order, skip, undo };
})();
