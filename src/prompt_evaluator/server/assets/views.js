// Views: this page under a name, and those that were named before.
import { request, say } from "./talk.js";

const URL_OF_VIEWS = "/api/v1/benchmarks/views";
const dialog = document.querySelector("#views");
const list = document.querySelector("#views-list");
const form = dialog.querySelector("form");
const problem = dialog.querySelector("[role=alert]");
const opener = document.querySelector("#open-views");

async function show() {
  const { views } = await request("GET", URL_OF_VIEWS);
  list.replaceChildren(...views.map(({ name, address }) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = address;
    const text = document.createElement("bdi");
    text.textContent = name;
    link.append(text);
    item.append(link);
    return item;
  }));
}

opener.hidden = false;
opener.addEventListener("click", async () => {
  problem.textContent = "";
  dialog.showModal();
  form.elements.name.focus();
  try {
    await show();
  } catch (error) {
    problem.textContent = error.message;
  }
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const { name } = await request("PUT", URL_OF_VIEWS, {
      name: form.elements.name.value,
      address: location.pathname + location.search + location.hash,
    });
    form.reset();
    dialog.close();
    say(`Saved as ${name}.`);
  } catch (error) {
    problem.textContent = error.message;
  }
});
