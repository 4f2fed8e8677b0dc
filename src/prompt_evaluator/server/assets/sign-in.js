// Sends the token as JSON, which a page elsewhere cannot do, and goes to the runs.
const form = document.querySelector("#sign-in");
const refused = document.querySelector("#refused");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  refused.hidden = true;
  const answer = await fetch("/api/v1/sign-in", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token: form.elements.token.value.trim() }),
  });
  if (answer.ok) {
    location.assign("/");
    return;
  }
  refused.textContent = (await answer.json()).error;
  refused.hidden = false;
  form.elements.token.select();
});
