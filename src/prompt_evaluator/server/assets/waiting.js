// Shows this address again once it has an answer. Without scripts, the page loads itself again.
const again = 700;
const said = document.querySelector("[data-waiting]");

async function look() {
  try {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.querySelector("[data-waiting]")) {
      location.reload();
      return;
    }
  } catch {
    said.textContent = "The server does not answer; trying again.";
  }
  setTimeout(look, again);
}

look();
