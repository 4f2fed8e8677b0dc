// A small form at each answer: `l` opens that of the current one, and a key labels it. On the page that labels one
// answer after the other it is open, the judge is hidden, and the next answer follows.
import { request, say } from "./talk.js";
import { typing } from "./keys.js";

const KEPT = "reviewer";
const template = () => document.querySelector("#quick-label-form");
const asking = () => document.querySelector("[data-quick-label][data-next]");
let busy = false;

function kept() {
  try {
    return localStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

function keep(name) {
  try {
    localStorage.setItem(KEPT, name);
  } catch { /* asked again on the next page */ }
}

function filled(box) {
  let form = box.querySelector("form");
  if (form) return form;
  form = template().content.firstElementChild.cloneNode(true);
  box.append(form);
  if (!template().dataset.reviewer) {
    form.querySelector("[data-who]").hidden = false;
    form.elements.reviewer.value = kept();
  }
  form.elements.metric.addEventListener("change", () => choose(form));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-value]");
    if (button) label(box, form, button);
  });
  return form;
}

function choose(form) {
  for (const group of form.querySelectorAll("[data-metric]")) group.hidden = group.dataset.metric !== form.elements.metric.value;
}

async function label(box, form, button) {
  const { run, case: case_id, number, next } = box.dataset;
  const named = form.elements.reviewer.value.trim();
  const reviewer = template().dataset.reviewer ? box.dataset.reviewer : named;
  if (busy) return;
  if (reviewer === "") {
    form.elements.reviewer.focus();
    say("Say who labels.");
    return;
  }
  if (named) keep(named);
  const metric = form.elements.metric.value;
  const comment = form.elements.comment.value.trim();
  const asked = { run, case_id, sample: Number(number), metric, value: Number(button.dataset.value), comment, reviewer, judge_seen: true };
  if (next) {
    asked.judge_seen = box.dataset.judgeSeen === "true";
    asked.probability = Number(box.dataset.probability);
    asked.answer_hash = box.dataset.answerHash;
  }
  busy = true;
  try {
    const made = await request("POST", "/api/v1/benchmarks/labels", asked);
    if (next) return location.assign(next);
    form.elements.comment.value = "";
    given(box, made);
    say(`Labelled: ${metric} ${made.value}.`);
  } catch (error) {
    say(error.message);
  }
  busy = false;
}

function given(box, { reviewer, metric, value, comment }) {
  const line = document.createElement("p");
  const tag = document.createElement("span");
  const text = document.createElement("bdi");
  const number = document.createElement("b");
  const note = document.createElement("bdi");
  line.className = "given";
  tag.className = "tag";
  tag.textContent = "label";
  text.textContent = `${reviewer}: ${metric}`;
  number.textContent = value;
  note.className = "soft";
  note.textContent = comment;
  line.append(tag, " ", text, " ", number, " ", note);
  for (const old of box.parentElement.querySelectorAll(":scope > .given")) {
    if (old.querySelector("bdi").textContent === text.textContent && !old.querySelector("small")) old.remove();
  }
  box.before(line);
}

document.addEventListener("toggle", (event) => {
  if (event.target.matches?.("[data-quick-label]") && event.target.open) filled(event.target);
}, true);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
  const inside = event.target.closest?.("[data-quick-label]") ?? asking();
  if (inside && event.key === "Escape" && !asking()) {
    inside.open = false;
    inside.querySelector("summary").focus();
    event.preventDefault();
  } else if (inside && event.key === "Enter" && event.target.matches("input")) {
    event.target.blur();
    event.preventDefault();
  } else if (inside?.open && (!typing(event) || event.target.matches("select"))) {
    const key = inside.querySelector(`[data-metric]:not([hidden]) [data-key="${CSS.escape(event.key)}"]`);
    if (key) {
      event.preventDefault();
      event.stopPropagation();
      key.click();
    } else if (event.key === "c") {
      event.preventDefault();
      inside.querySelector("[name=comment]").focus();
    } else if (event.key === "s" && asking()) document.querySelector("[data-skip]").click();
  } else if (event.key === "l" && !typing(event)) {
    const box = document.querySelector("[data-sample][aria-current] [data-quick-label]") ?? document.querySelector("[data-quick-label]");
    if (!box) return;
    box.open = true;
    filled(box).elements.metric.focus();
    box.scrollIntoView({ block: "nearest" });
    event.preventDefault();
  }
}, true);

// An answer that the browser kept when it was left may have been labelled since.
addEventListener("pageshow", (event) => {
  if (event.persisted && asking()) location.reload();
});

const start = document.querySelector("#start-labelling");
if (start?.elements.reviewer) {
  start.elements.reviewer.value ||= kept();
  start.addEventListener("submit", () => keep(start.elements.reviewer.value.trim()));
}
if (asking()) filled(asking());
