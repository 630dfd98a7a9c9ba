// Shows what an answer says in its HX-Trigger header: {"toast": {"text": "…", "level": "success"}}.
// Good news goes by itself once it could be read, and never while somebody points at it; a warning
// or an error stays until it is dismissed.
(() => {
  const READING_MS = 10000;
  const CROSS = "M4 4l8 8M12 4l-8 8";
  const area = document.querySelector("[data-toasts]");

  const cross = () => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "icon");
    svg.setAttribute("viewBox", "0 0 16 16");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS(svg.namespaceURI, "path");
    path.setAttribute("d", CROSS);
    path.setAttribute("stroke", "currentColor");
    path.setAttribute("stroke-width", "1.5");
    svg.append(path);
    return svg;
  };

  const make = (text, level) => {
    const toast = document.createElement("div");
    toast.className = `message toast ${level}`;
    const words = document.createElement("span");
    words.className = "toast-words";
    words.textContent = text;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button quiet small icon-only";
    button.setAttribute("aria-label", area.dataset.dismiss);
    button.append(cross());
    button.addEventListener("click", () => toast.remove());
    toast.append(words, button);
    return toast;
  };

  const leave = (toast) => {
    const wait = () => setTimeout(() => (toast.matches(":hover, :focus-within") || document.hidden ? wait() : toast.remove()), READING_MS);
    wait();
  };

  const show = (event) => {
    const { text, level = "success" } = event.detail;
    const toast = make(text, level);
    area.append(toast);
    if (level === "success" || level === "info") leave(toast);
  };

  document.addEventListener("toast", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && area.contains(document.activeElement)) document.activeElement.closest(".toast")?.remove();
  });
})();
