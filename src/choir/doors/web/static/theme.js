// Runs before anything is painted, so that the chosen colours never flash. Not a module: those come too late.
"use strict";
(() => {
  const root = document.documentElement;
  root.dataset.script = "on";
  try {
    const chosen = localStorage.getItem("choir-theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch {
    // Storage may be forbidden; then the system's choice holds.
  }
})();
