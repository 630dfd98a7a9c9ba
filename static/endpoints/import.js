// From a mistake to its line in the text.
(() => {
  const text = document.getElementById("import-text");
  if (!text) return;

  const goTo = (line) => {
    const lines = text.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    text.focus();
    text.setSelectionRange(start, start + (lines[line - 1] || "").length);
    const height = text.scrollHeight / lines.length;
    text.scrollTop = Math.max(0, (line - 3) * height);
    text.scrollIntoView({ block: "center" });
  };

  for (const button of document.querySelectorAll("[data-go-to-line]")) {
    button.hidden = false;
    button.addEventListener("click", () => goTo(Number(button.dataset.goToLine)));
  }
})();
