// The answers of a case one by one: the keys [ and ], and clicks on a card or a mark of the strips.
import { typing } from "./keys.js";

const main = document.querySelector("main");

export function markTarget() {
  if (location.hash) document.getElementById(location.hash.slice(1))?.setAttribute("aria-current", "true");
}

function step(by) {
  const cards = [...main.querySelectorAll("[data-sample]")];
  if (!cards.length) return;
  const now = cards.findIndex((card) => card.getAttribute("aria-current") === "true");
  const next = now < 0 ? (by > 0 ? 0 : cards.length - 1) : Math.max(0, Math.min(cards.length - 1, now + by));
  cards.forEach((card, index) => {
    if (index === next) card.setAttribute("aria-current", "true");
    else card.removeAttribute("aria-current");
  });
  cards[next].focus({ preventScroll: true });
  cards[next].scrollIntoView({ block: "nearest" });
  const place = main.querySelector("[data-answer]");
  if (place) place.textContent = `answer ${next + 1} of ${cards.length}`;
}

addEventListener("keydown", (event) => {
  if (event.altKey || event.metaKey || event.ctrlKey || typing(event) || document.querySelector("dialog[open]")) return;
  const sideways = event.shiftKey ? { ArrowLeft: -1, ArrowRight: 1 }[event.key] : undefined;
  const by = sideways ?? { "[": -1, "]": 1 }[event.key];
  if (!by) return;
  step(by);
  event.preventDefault();
}, true);

// A click on a mark of the strips, or on a card, makes that answer the current one.
main.addEventListener("click", (event) => {
  const mark = event.target.closest("svg a");
  const card = mark ? document.getElementById(mark.getAttribute("href").slice(1)) : event.target.closest("[data-sample]");
  if (!card) return;
  for (const each of main.querySelectorAll("[data-sample][aria-current]")) each.removeAttribute("aria-current");
  card.setAttribute("aria-current", "true");
});
