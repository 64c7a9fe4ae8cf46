// The rating page: shows one caption after another and keeps every answer at once. All texts from outside are set as
// textContent; nothing is ever parsed as markup.
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const campaign = JSON.parse($("campaign").textContent);
  const questions = campaign.questions;
  const groups = questions.map((name) => $(`question-${name}`));
  const prefix = `vericap-ratings/${campaign.campaign}`;

  let state = null; // of the rater at work; null on the first page
  let asked = 0; // the question that a digit answers
  let lap = 0; // when the time of the next answer began
  let hiddenAt = 0;
  let choosing = false; // among the answers of one question, with the keys that browsers give to radio buttons
  let keeps = true; // whether the browser keeps what is stored
  const KEEPS_NOTHING = "This browser keeps nothing for this page: save your ratings before you close it.";

  // ---- keeping ------------------------------------------------------------------------------------------------

  const raterKey = (rater) => `${prefix}/rater/${rater}`;

  function stored(key) {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null; // refused or damaged: as if nothing had been kept
    }
  }

  function store(key, value) {
    try {
      localStorage.setItem(key, JSON.stringify(value));
    } catch {
      keeps = false;
      notice(KEEPS_NOTHING);
    }
  }

  const keep = () => store(raterKey(state.rater), state);

  function notice(text) {
    $("notice").textContent = text;
    $("notice").hidden = !text;
  }

  function tell(text) {
    $("told").textContent = text;
  }

  // ---- time ---------------------------------------------------------------------------------------------------

  function seconds() {
    const now = performance.now();
    const spent = (now - lap) / 1000;
    lap = now;
    return spent;
  }

  // Time in another tab is not time spent on a caption.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) hiddenAt = performance.now();
    else lap += performance.now() - hiddenAt;
  });

  // ---- showing ------------------------------------------------------------------------------------------------

  function view(name) {
    for (const section of ["start", "rate", "end"]) $(section).hidden = section !== name;
    $("bar").hidden = name === "start";
    $("keys").hidden = name !== "rate";
  }

  const entry = () => state.entries[state.place];
  const itemAt = (place) => campaign.items[state.order[place].item];
  const many = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

  function show() {
    notice(keeps ? "" : KEEPS_NOTHING);
    showProgress();
    if (state.place >= state.order.length) return showEnd();
    view("rate");
    const item = itemAt(state.place);
    $("place").textContent = `Caption ${state.place + 1} of ${state.order.length}`;
    $("caption").textContent = item.text.trim() ? item.text : "(empty caption)";
    $("caption").classList.toggle("empty", !item.text.trim());
    $("photo").src = item.photo;
    if (state.place + 1 < state.order.length) new Image().src = itemAt(state.place + 1).photo; // ready when asked for
    $("comment").value = entry().comment;
    $("open").hidden = true;
    asked = Math.max(0, questions.indexOf(Rating.openQuestions(entry(), questions)[0]));
    showAnswers();
    lap = performance.now();
    window.scrollTo(0, 0);
    $("caption").focus({ preventScroll: true });
    tell($("place").textContent);
  }

  function showAnswers() {
    const { ratings, skipped } = entry();
    groups.forEach((group, at) => {
      for (const radio of group.querySelectorAll("input")) radio.checked = Number(radio.value) === ratings[questions[at]];
      group.classList.toggle("asked", at === asked);
    });
    $("skip").setAttribute("aria-pressed", String(skipped));
    $("skip").textContent = skipped ? "Skipped" : "Skip";
    $("back").disabled = state.place === 0;
    $("undo").disabled = state.history.length === 0;
  }

  function showProgress() {
    const { all, done } = Rating.counts(state, questions);
    $("who").textContent = state.rater;
    $("progress").max = all;
    $("progress").value = done;
    $("done").textContent = `${done} of ${all} done`;
    $("shortcuts").checked = state.shortcuts;
  }

  function showEnd() {
    view("end");
    const { rated, skipped, open } = Rating.counts(state, questions);
    const parts = [`You rated ${many(rated, "caption")}`];
    if (skipped) parts.push(`skipped ${skipped}`);
    const rest = open ? `${many(open, "caption")} ${open === 1 ? "is" : "are"} still open.` : "Nothing is open.";
    $("summary").textContent = `${parts.join(" and ")}. ${rest}`;
    $("first-open").hidden = open === 0;
    $("saved").textContent = "Save your ratings and send the file to whoever asked you for them.";
    $("end-title").focus({ preventScroll: true });
    tell($("summary").textContent);
  }

  // ---- doing --------------------------------------------------------------------------------------------------

  function goTo(place) {
    state.place = Math.min(Math.max(place, 0), state.order.length);
    keep();
    show();
  }

  function ask(at) {
    asked = Math.min(Math.max(at, 0), groups.length - 1);
    groups.forEach((group, other) => group.classList.toggle("asked", other === asked));
  }

  // An answer moves mark and focus to the next open question, so that a screen reader reads it out; but whoever is
  // still choosing among the answers of one question stays there.
  function rate(at, value, stay) {
    Rating.answer(state, questions[at], value, seconds());
    const open = Rating.openQuestions(entry(), questions);
    asked = stay || !open.length ? at : questions.indexOf(open[0]);
    keep();
    showProgress();
    showAnswers();
    $("open").hidden = true;
    if (!stay) (open.length ? groups[asked] : $("next")).focus();
    tell(`${questions[at]}: ${value}.${open.length ? "" : " All questions are answered."}`);
  }

  function next() {
    const open = Rating.openQuestions(entry(), questions);
    if (!Rating.isDone(entry(), questions)) {
      $("open").textContent = `${many(open.length, "question")} still open: answer, or skip the caption.`;
      $("open").hidden = false;
      tell($("open").textContent);
      ask(questions.indexOf(open[0]));
      groups[asked].focus();
      return;
    }
    goTo(state.place + 1);
  }

  function skip() {
    const skipped = !entry().skipped;
    Rating.skip(state, skipped);
    if (skipped) goTo(state.place + 1);
    else goTo(state.place);
    tell(skipped ? "Skipped." : "No longer skipped.");
  }

  function undo() {
    if (!Rating.undo(state)) return tell("There is nothing to undo.");
    goTo(state.place);
    tell(`Taken back. ${$("place").textContent}`);
  }

  function save(ending, write) {
    const name = Rating.fileName(state.rater, ending);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([write(campaign, state, new Date())], { type: "application/json" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000); // some browsers read it later
    $("saved").textContent = `Saved as ${name} in the folder of your downloads. Send this file to whoever asked for it.`;
    tell($("saved").textContent);
  }

  // ---- raters -------------------------------------------------------------------------------------------------

  function enter(rater) {
    const kept = stored(raterKey(rater));
    state = Rating.fits(kept, campaign, rater) ? kept : Rating.begin(campaign, rater, new Date());
    if (!state.order.length) {
      state = null;
      return notice(`No caption of this campaign is meant for ${rater}.`);
    }
    store(`${prefix}/current`, rater);
    keep();
    show();
  }

  function showStart() {
    state = null;
    view("start");
    const kept = [];
    try {
      for (const key of Object.keys(localStorage)) {
        if (key.startsWith(raterKey(""))) kept.push(stored(key));
      }
    } catch {
      // Storage is refused: nobody can be resumed.
    }
    const known = kept.filter((found) => found && Rating.fits(found, campaign, found.rater));
    const names = known.map((found) => {
      const { done, all } = Rating.counts(found, questions);
      return `${found.rater} (${done} of ${all} done)`;
    });
    $("resumable").textContent = `Begun on this computer: ${names.join(", ")}. The same name goes on there.`;
    $("resumable").hidden = names.length === 0;
  }

  // ---- wiring -------------------------------------------------------------------------------------------------

  $("enter").addEventListener("submit", (event) => {
    event.preventDefault();
    const rater = $("rater").value.trim().replace(/\s+/g, " ");
    $("rater").value = rater;
    if (rater) enter(rater);
    else $("rater").reportValidity();
  });
  $("leave").addEventListener("click", () => {
    store(`${prefix}/current`, null);
    showStart();
    $("rater").focus();
  });
  $("answers").addEventListener("submit", (event) => {
    event.preventDefault();
    next();
  });
  groups.forEach((group, at) => {
    group.addEventListener("change", (event) => rate(at, Number(event.target.value), choosing));
    group.addEventListener("focusin", () => ask(at));
  });
  $("comment").addEventListener("input", () => {
    entry().comment = $("comment").value.trim();
    keep();
  });
  $("back").addEventListener("click", () => goTo(state.place - 1));
  $("undo").addEventListener("click", undo);
  $("skip").addEventListener("click", skip);
  $("return").addEventListener("click", () => goTo(state.order.length - 1));
  $("first-open").addEventListener("click", () => {
    goTo(state.entries.findIndex((found) => !Rating.isDone(found, questions)));
  });
  $("save").addEventListener("click", () => save("json", Rating.json));
  $("save-end").addEventListener("click", () => save("json", Rating.json));
  $("save-lines").addEventListener("click", () => save("jsonl", Rating.lines));
  $("shortcuts").addEventListener("change", () => {
    state.shortcuts = $("shortcuts").checked;
    keep();
  });
  $("photo").addEventListener("error", () => notice("The photo cannot be shown: is the folder complete? Skip this one."));

  const KEYS = {
    ArrowLeft: () => goTo(state.place - 1),
    ArrowRight: () => goTo(state.place + 1),
    ArrowUp: () => (ask(asked - 1), groups[asked].focus()),
    ArrowDown: () => (ask(asked + 1), groups[asked].focus()),
    Enter: next,
    s: skip,
    u: undo,
    c: () => $("comment").focus(),
  };

  document.addEventListener("pointerdown", () => {
    choosing = false;
  });
  document.addEventListener("keydown", (event) => {
    choosing = document.activeElement.type === "radio";
    if ($("rate").hidden || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const at = document.activeElement;
    if (at === $("comment")) {
      if (event.key === "Escape") $("caption").focus();
      return; // a text is being typed
    }
    if (!state.shortcuts) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (/^[1-5]$/.test(key)) {
      event.preventDefault();
      rate(asked, Number(key), false);
    } else if (KEYS[key]) {
      // Arrows inside a group of answers, and Enter on a control, mean what they mean everywhere.
      if (key.startsWith("Arrow") && at.type === "radio") return;
      if (key === "Enter" && at.matches("button, input, summary")) return;
      event.preventDefault();
      KEYS[key]();
    }
  });

  // The same rater in a second window: the later answer counts, and both windows show it.
  window.addEventListener("storage", (event) => {
    if (!state || event.key !== raterKey(state.rater)) return;
    const kept = stored(event.key);
    if (!Rating.fits(kept, campaign, state.rater)) return;
    state = kept;
    show();
  });
  window.addEventListener("error", (event) => {
    if (event.message) notice(`Something went wrong (${event.message}). Save your ratings and reload the page.`);
  });
  window.addEventListener("beforeunload", (event) => {
    if (state && !keeps) event.preventDefault();
  });

  const current = stored(`${prefix}/current`);
  if (typeof current === "string" && stored(raterKey(current))) enter(current);
  else showStart();
})();
