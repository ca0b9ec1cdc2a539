"use strict";
// Two comforts; without this script everything can be read all the same.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  name();
  button.hidden = false;

  const folded = () => document.querySelectorAll("details:not([open])");
  const unfold = (place) => { for (let at = place; at; at = at.parentElement) { if (at.tagName === "DETAILS") { at.open = true; } } };
  const follow = () => { const place = location.hash && document.getElementById(location.hash.slice(1)); if (place) { unfold(place); } };
  addEventListener("hashchange", follow);
  follow();
  addEventListener("beforeprint", () => { for (const one of folded()) { one.open = true; one.dataset.folded = ""; } });
  addEventListener("afterprint", () => {
    for (const one of document.querySelectorAll("details[data-folded]")) { one.open = false; delete one.dataset.folded; }
  });
})();
