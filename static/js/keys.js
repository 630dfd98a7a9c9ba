// Keys for people who do not reach for the mouse. The dialog of templates/parts/_keyboard_shortcuts.html lists
// them, and can switch them off: who speaks to their computer would press them by talking.
(() => {
  const WAIT_MS = 1500;
  let before = "";
  let timer = 0;

  const dialog = () => document.querySelector("#keys");
  const rows = () => [...document.querySelectorAll("[data-rows] .row-link")];
  const cells = (row) => [row.querySelector(".row-link"), ...row.querySelectorAll("td[tabindex]")];

  const isOff = () => {
    try {
      return localStorage.getItem("keys") === "off";
    } catch {
      return false;
    }
  };

  const switchKeys = (on) => {
    try {
      localStorage.setItem("keys", on ? "on" : "off");
    } catch {
      // Storage may be off; they stay on then.
    }
  };

  const isTyping = (target) =>
    target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

  // One row further; from nowhere, the first or the last one.
  const step = (by) => {
    const found = rows();
    const at = found.findIndex((link) => link.closest("tr").contains(document.activeElement));
    const next = at < 0 ? (by > 0 ? 0 : found.length - 1) : at + by;
    found[next]?.focus();
    return next >= 0 && next < found.length;
  };

  const sideways = (by) => {
    const row = document.activeElement.closest("[data-rows] tr");
    if (!row) return false;
    const found = cells(row);
    const next = found[Math.max(0, found.indexOf(document.activeElement)) + by];
    next?.focus();
    return Boolean(next);
  };

  const search = () => {
    const field = document.querySelector("[data-search]");
    field?.focus();
    field?.select();
    return Boolean(field);
  };

  const open = () => {
    if (dialog()?.open) dialog().close();
    else dialog()?.showModal();
    return Boolean(dialog());
  };

  const go = (key) => {
    const link = dialog()?.querySelector(`[data-go="${CSS.escape(key)}"]`);
    if (link) location.assign(link.href);
    return Boolean(link);
  };

  const enter = () => {
    const cell = document.activeElement.closest("[data-rows] td[tabindex]");
    cell?.closest("tr").querySelector(".row-link").click();
    return Boolean(cell);
  };

  const leave = () => {
    const at = document.activeElement.closest("[data-rows]");
    document.documentElement.classList.add("tips-off");
    if (at) document.activeElement.blur();
    return Boolean(at);
  };

  const letters = { "/": search, "?": open, j: () => step(1), k: () => step(-1) };
  const inRows = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    ArrowRight: () => sideways(1),
    ArrowLeft: () => sideways(-1),
    Enter: enter,
    Escape: leave,
  };

  const chosen = (event) => {
    const inList = event.target.closest?.("[data-rows]");
    if (event.target.matches?.("[data-search]")) return event.key === "ArrowDown" ? () => step(1) : null;
    if (isTyping(event.target)) return null;
    if (inList && inRows[event.key]) return inRows[event.key];
    if (event.key === "Escape") return leave;
    if (isOff() || dialog()?.open) return null;
    if (before === "g") return () => go(event.key);
    return letters[event.key] ?? null;
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const act = chosen(event);
    if (act?.()) event.preventDefault();
    before = event.key;
    clearTimeout(timer);
    timer = setTimeout(() => (before = ""), WAIT_MS);
  });

  // A tip that was sent away comes back with the next move.
  document.addEventListener("mousemove", () => document.documentElement.classList.remove("tips-off"));
  document.addEventListener("focusin", () => document.documentElement.classList.remove("tips-off"));

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-keys-on]")) switchKeys(event.target.checked);
  });
  document.addEventListener("DOMContentLoaded", () => {
    const box = document.querySelector("[data-keys-on]");
    if (box) box.checked = !isOff();
  });
})();
