// Runs before the page is drawn, so that a remembered theme does not flash.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* storage may be switched off */ }
