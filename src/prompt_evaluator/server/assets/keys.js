// Keys: rows of the table with `data-rows`, the search field, pages, and the sheet that explains them.
const sheet = document.querySelector("#keys");
const opener = document.querySelector("#open-keys");
const rows = () => [...document.querySelectorAll("table[data-rows] tbody tr[data-href]")];
let going = false;

opener.hidden = false;
opener.addEventListener("click", () => sheet.showModal());

export function typing(event) {
  return event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;
}

export function current() {
  return rows().findIndex((row) => row.getAttribute("aria-selected") === "true");
}

export function select(at) {
  const all = rows();
  if (!all.length) return;
  const next = Math.max(0, Math.min(all.length - 1, at));
  all.forEach((row, index) => row.setAttribute("aria-selected", String(index === next)));
  all[next].scrollIntoView({ block: "nearest" });
  const link = all[next].querySelector("a[href]");
  link?.focus({ preventScroll: true });
}

function go(selector) {
  const link = document.querySelector(selector);
  if (link) location.assign(link.href);
  return Boolean(link);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (typing(event)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.ctrlKey) return;
  if (going) {
    going = false;
    if (event.key === "b") go(".top .brand");
    if (event.key === "c") go('.top nav a[href*="compare"]');
    return;
  }
  const at = current();
  switch (event.key) {
    case "j": select(at + 1); break;
    case "k": select(at < 0 ? 0 : at - 1); break;
    case "Enter":
      if (at < 0 || event.target.closest("button")) return;
      location.assign(rows()[at].dataset.href);
      break;
    case "x": rows()[at]?.querySelector("input[type=checkbox]")?.click(); break;
    case "/": document.querySelector(".filter")?.focus(); break;
    case "g": going = true; setTimeout(() => (going = false), 1500); break;
    case "?": sheet.showModal(); break;
    case "ArrowLeft": if (!go("a[data-previous]")) return; break;
    case "ArrowRight": if (!go("a[data-next]")) return; break;
    default: return;
  }
  event.preventDefault();
});
