// [data-copy="#id"] puts the text of that element on the clipboard and says so. The button is in
// the markup as hidden: without scripts it would do nothing.
(() => {
  const { copied, notCopied } = document.querySelector("[data-toasts]").dataset;
  const tell = (text, level) => document.dispatchEvent(new CustomEvent("toast", { detail: { text, level } }));

  const unhide = (within) => within.querySelectorAll("[data-copy]").forEach((button) => (button.hidden = false));

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent);
      tell(copied, "success");
    } catch {
      tell(notCopied, "warning");
    }
  });
  unhide(document);
  document.addEventListener("htmx:load", (event) => unhide(event.target));
})();
