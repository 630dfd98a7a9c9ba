// Copies the text of the field beside a button. Without this script the field is there to copy from.
(() => {
  const show = (root) => {
    for (const button of root.querySelectorAll("[data-copy]")) button.hidden = false;
  };

  const copy = async (field) => {
    field.focus();
    field.select();
    // Pages that are not served by https have no clipboard but this old way to it.
    if (!navigator.clipboard) return document.execCommand("copy");
    await navigator.clipboard.writeText(field.value);
    return true;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    const words = button.textContent;
    const copied = await copy(button.parentElement.querySelector("textarea")).catch(() => false);
    button.textContent = copied ? button.dataset.copied : button.dataset.failed;
    setTimeout(() => { button.textContent = words; }, 2000);
  });

  show(document);
  document.addEventListener("htmx:load", (event) => show(event.detail.elt));
})();
