// News of a run: calls back with progress, finished cases and the end. The browser reconnects by itself.
export function watch(runId, { progress, finished, ended }) {
  const source = new EventSource(`/api/v1/benchmarks/runs/${encodeURIComponent(runId)}/events`);
  const read = (call) => (event) => call?.(JSON.parse(event.data));
  source.addEventListener("progress", read(progress));
  source.addEventListener("case", read(finished));
  source.addEventListener("ended", (event) => {
    source.close();
    read(ended)(event);
  });
  addEventListener("pagehide", () => source.close());
  return source;
}

export function clock(seconds) {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const rest = String(whole % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

export function money(dollars) {
  if (dollars === null || dollars === undefined) return "";
  if (!dollars) return "$0";
  return dollars >= 0.1 ? `$${dollars.toFixed(2)}` : `$${dollars.toFixed(4)}`;
}

// Fills the parts of an element with `data-part` by what a run's progress says.
export function fill(element, { status, progress }) {
  const put = (part, text) => {
    const found = element.querySelector(`[data-part="${part}"]`);
    if (found) found.textContent = text;
  };
  if (!progress) {
    put("left", status === "queued" ? "queued" : "starting");
    return;
  }
  const { samples, samples_done: done, rate, throttled, cost, errors } = progress;
  const wrong = Object.values(errors).reduce((sum, count) => sum + count, 0);
  put("count", `${done} of ${samples}`);
  put("rate", rate ? `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)}/s` : "");
  put("left", status === "queued" ? "queued" : rate ? `${clock((samples - done) / rate)} left` : "");
  put("throttled", throttled > 0.01 ? `${Math.round(throttled * 100)} % held back by limits` : "");
  put("cost", money(cost));
  put("errors", wrong ? `${wrong} errors` : "");
  const bar = element.querySelector("progress");
  if (bar) { bar.max = samples || 1; bar.value = done; }
}
