"use strict";
// Comforts: without this script everything can be read all the same.
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  name();
  button.hidden = false;

  const folded = () => all("details:not([open])");
  const unfold = (place) => { for (let at = place; at; at = at.parentElement) { if (at.tagName === "DETAILS") { at.open = true; } } };
  const follow = () => { const place = location.hash && document.getElementById(location.hash.slice(1)); if (place) { unfold(place); } };
  addEventListener("hashchange", follow);
  follow();
  addEventListener("beforeprint", () => { for (const one of folded()) { one.open = true; one.dataset.folded = ""; } });
  addEventListener("afterprint", () => {
    for (const one of all("details[data-folded]")) { one.open = false; delete one.dataset.folded; }
  });

  // a time is written as an age when the page is read, and again every minute
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const age = (one) => {
    const seconds = (Date.parse(one.dateTime) - Date.now()) / 1000;
    const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) || ["minute", 60];
    one.title = one.title || `${one.textContent} UTC`;
    one.textContent = words.format(Math.trunc(seconds / size), unit);
  };
  const renew = () => all("time").forEach(age);
  renew();
  setInterval(renew, 60000);

  for (const command of all(".command")) {
    const copy = document.createElement("button");
    copy.type = "button";
    copy.className = "copy";
    copy.textContent = "Copy";
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command.textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(command);
      }
    });
    command.after(" ", copy);
  }

  const filter = document.getElementById("filter");
  const shown = [
    ".card", ".lane", ".weeks li", "#decisions .items > ul > li", "#blockers .items > ul > li", "#next li", "#drift li",
    "#changes tbody tr", "#skills details[id^='skill-']", "#tickets tbody tr",
  ].join();
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    if (wanted) { for (const one of all("#complete, #skills-complete")) { one.open = true; } }
    for (const one of all(shown)) { one.hidden = !one.textContent.toLowerCase().includes(wanted); }
  });
  filter.hidden = false;
})();
