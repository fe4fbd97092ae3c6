// Before the first paint: light or dark, as the reader chose last.
const chosen = localStorage.getItem("acpella.theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
