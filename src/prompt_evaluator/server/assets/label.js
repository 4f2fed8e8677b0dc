// One sample after the other: keys label, skip and take back. The server says which sample is next and keeps it for
// some minutes; every label is stored before the next sample is shown.
import { fetchPage, request, say } from "./talk.js";
import { typing } from "./keys.js";
import { askIn, keep, kept, namedIn } from "./reviewer.js";

const main = document.querySelector("main");
const RENEW = 4 * 60 * 1000;
const seen = new Set();
let busy = false;
let name = null;

const page = () => main.querySelector("[data-queue]");
const place = () => Number(page()?.dataset.place) || null;

function address(changes) {
  const { run, queue, judge } = page().dataset;
  const query = new URLSearchParams({ queue });
  for (const [key, value] of Object.entries({ judge, ...changes })) if (value) query.set(key, value);
  return `/labels/${run}?${query}`;
}

async function show(target) {
  const next = await fetchPage(target);
  history.replaceState(null, "", target);
  document.title = next.title;
  main.replaceChildren(...document.importNode(next.querySelector("main"), true).childNodes);
  main.querySelector("h1").focus({ preventScroll: true });
  scrollTo(0, 0);
  note();
}

// What has been shown once has been seen, also if it is hidden again.
function note() {
  if (place() && main.querySelector("[data-opinion]")) seen.add(place());
}

async function send(what, body = {}) {
  return request("POST", `/api/v1/benchmarks/label-queues/${page().dataset.queue}/${what}`, { reviewer: name, ...body });
}

async function follow(step, changes = {}) {
  const after = step.done ?? changes.after;
  await show(address({ after, place: step.place }));
  if (step.place === null) finish(step);
}

function finish({ progress }) {
  main.querySelector("[data-waiting]").hidden = true;
  const left = progress.queue.size - progress.labelled;
  main.querySelector("[data-finished-text]").textContent = left
    ? `Nothing is left for you: ${progress.labelled} of ${progress.queue.size} are labelled, the others you skipped or somebody else is looking at.`
    : `All ${progress.queue.size} samples are labelled.`;
  main.querySelector("[data-finished]").hidden = false;
}

// Keys that come while a sample is on its way are dropped: they were not meant for the next one.
async function act(work) {
  if (busy) return;
  busy = true;
  page().setAttribute("aria-busy", "true");
  try {
    await work();
  } catch (error) {
    say(error.message);
  } finally {
    busy = false;
    page()?.removeAttribute("aria-busy");
  }
}

const actions = {
  skip: async () => place() && follow(await send("skips", { place: place() })),
  undo: async () => {
    const before = place();
    const step = await send("undo");
    if (step.place === before && !step.label) say("There is nothing to take back.");
    await follow(step);
  },
  judge: () => show(address({ place: place(), judge: page().dataset.judge ? "" : "1" })),
};

async function label(value) {
  const comment = main.querySelector("[name=comment]").value.trim();
  const given = { place: place(), value, comment, judge_seen: seen.has(place()) };
  await follow(await send("labels", { ...given, answer_hash: page().dataset.answerHash || null }));
}

function reviewer() {
  const known = page().dataset.reviewer;
  if (known) return Promise.resolve(null);
  const form = document.querySelector("#who");
  if (kept()) return Promise.resolve(kept());
  main.querySelector("[data-waiting]")?.setAttribute("hidden", "");
  form.hidden = false;
  form.elements.reviewer.focus();
  return new Promise((done) => form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = form.elements.reviewer.value.trim();
    if (!given) return;
    keep(given);
    form.hidden = true;
    done(given);
  }));
}

async function begin() {
  name = await reviewer();
  if (new URLSearchParams(location.search).has("place") && !place()) return; // a sample that is labelled, to be read
  await act(async () => {
    const after = new URLSearchParams(location.search).get("after");
    await follow(await send("next"), { after });
  });
  setInterval(async () => {
    if (busy || document.hidden || !place()) return;
    const step = await send("next").catch(() => null);
    if (step && !busy && place() && step.place !== place()) act(() => follow(step));
  }, RENEW);
}

if (page()) {
  note();
  begin();
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
    const comment = main.querySelector("[name=comment]");
    if (event.target === comment && event.key === "Enter") {
      comment.blur();
      event.preventDefault();
    }
    if (typing(event) || main.querySelector("[data-scoring]")?.hidden !== false) {
      if (event.key !== "u" || typing(event) || !name && !page().dataset.reviewer) return;
    }
    const key = main.querySelector(`[data-scoring] [data-key="${CSS.escape(event.key)}"]`);
    const action = { s: "skip", u: "undo", o: "judge" }[event.key];
    if (key && place()) act(() => label(Number(key.dataset.value)));
    else if (event.key === "c") comment.focus();
    else if (action && (place() || action === "undo")) act(actions[action]);
    else return;
    event.preventDefault();
  }, true);
  main.addEventListener("click", (event) => {
    const button = event.target.closest("[data-scoring] button");
    if (!button || !place()) return;
    if (button.dataset.do) act(actions[button.dataset.do]);
    else act(() => label(Number(button.dataset.value)));
  });
}

// The form that starts a queue.
const start = document.querySelector("#start-queue");
if (start) {
  const known = start.dataset.reviewer;
  const refused = document.querySelector("#start-refused");
  askIn(start, known);
  start.addEventListener("submit", async (event) => {
    event.preventDefault();
    refused.hidden = true;
    const { metric, draw, size } = Object.fromEntries(new FormData(start));
    try {
      const asked = { run: start.dataset.run, metric, draw, size: Number(size), reviewer: namedIn(start, known) };
      const { queue } = await request("POST", "/api/v1/benchmarks/label-queues", asked);
      location.assign(`/labels/${start.dataset.run}?queue=${queue.id}`);
    } catch (error) {
      refused.textContent = error.message;
      refused.hidden = false;
    }
  });
}
