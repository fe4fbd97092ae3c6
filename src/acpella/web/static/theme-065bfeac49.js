"use strict";
(() => {
  // src/theme.ts
  var chosen = localStorage.getItem("acpella.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
