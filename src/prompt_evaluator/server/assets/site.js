// What every page has: the theme, actions, keys, times that stay true.
import { request, say } from "./talk.js";
import "./keys.js";
import "./copying.js";

const themes = ["system", "light", "dark"];
const themeButton = document.querySelector("#theme");

function showTheme() {
  themeButton.textContent = `Theme: ${document.documentElement.dataset.theme ?? "system"}`;
}

themeButton.hidden = false;
showTheme();
themeButton.addEventListener("click", () => {
  const now = document.documentElement.dataset.theme ?? "system";
  const next = themes[(themes.indexOf(now) + 1) % themes.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("theme", next);
  } catch { /* not remembered */ }
  showTheme();
});

// A form with `data-method` sends its JSON, together with its own fields, and then shows the page again.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.method) return;
  event.preventDefault();
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) return;
  const fields = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value === "" ? null : value]));
  const buttons = form.querySelectorAll("button");
  buttons.forEach((button) => (button.disabled = true));
  try {
    await request(form.dataset.method, form.dataset.url, { ...JSON.parse(form.dataset.json || "{}"), ...fields });
    if (form.dataset.then) location.assign(form.dataset.then);
    else location.reload();
  } catch (error) {
    say(error.message);
    buttons.forEach((button) => (button.disabled = false));
  }
});

// A table that fits needs no container that scrolls: without one, its header stays at the top of the window, a menu of
// its last row is not cut off, and nobody has to tab past it.
const fitting = new ResizeObserver((changes) => {
  for (const box of new Set(changes.map(({ target }) => target.closest(".scroll")).filter(Boolean))) {
    const fits = box.scrollWidth <= box.clientWidth;
    box.classList.toggle("fits", fits);
    if (fits) box.removeAttribute("tabindex");
    else box.tabIndex = 0;
  }
});

function watchTables() {
  for (const box of document.querySelectorAll(".scroll:not([data-watched])")) {
    box.dataset.watched = "";
    fitting.observe(box);
    if (box.firstElementChild) fitting.observe(box.firstElementChild);
  }
}

watchTables();
new MutationObserver(watchTables).observe(document.body, { childList: true, subtree: true });

// Times in words grow old while a page is open.
const spans = [[60, 1, "s"], [3600, 60, "min"], [86400, 3600, "h"]];
setInterval(() => {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    const span = spans.find(([below]) => seconds < below);
    if (span && seconds >= 45) time.textContent = `${Math.floor(seconds / span[1])} ${span[2]} ago`;
  }
}, 15_000);
