// A small form at each sample: `l` opens that of the current one, and a key labels it. The judge's score is on the
// same page, so the label says that it was seen.
import { request, say } from "./talk.js";
import { typing } from "./keys.js";
import { askIn, namedIn } from "./reviewer.js";

const template = () => document.querySelector("#quick-label-form");

function filled(box) {
  let form = box.querySelector("form");
  if (form) return form;
  form = template().content.firstElementChild.cloneNode(true);
  box.append(form);
  askIn(form, template().dataset.reviewer);
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
  const known = template().dataset.reviewer;
  const reviewer = namedIn(form, known);
  if (!known && !reviewer) {
    form.elements.reviewer.focus();
    say("Say who labels.");
    return;
  }
  const { run, case: case_id, number } = box.dataset;
  const metric = form.elements.metric.value;
  const comment = form.elements.comment.value.trim();
  const asked = { run, case_id, sample: Number(number), metric, value: Number(button.dataset.value), comment, judge_seen: true };
  try {
    const made = await request("POST", "/api/v1/benchmarks/labels", reviewer ? { ...asked, reviewer } : asked);
    form.elements.comment.value = "";
    given(box, made);
    say(`Labelled: ${metric} ${made.value}.`);
  } catch (error) {
    say(error.message);
  }
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
  const inside = event.target.closest?.("[data-quick-label]");
  if (inside && event.key === "Escape") {
    inside.open = false;
    inside.querySelector("summary").focus();
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
    }
  } else if (event.key === "l" && !typing(event)) {
    const box = document.querySelector("[data-sample][aria-current] [data-quick-label]") ?? document.querySelector("[data-quick-label]");
    if (!box) return;
    box.open = true;
    filled(box).elements.metric.focus();
    box.scrollIntoView({ block: "nearest" });
    event.preventDefault();
  }
}, true);
