// Opens the plan of a run over the page; without this script its link leads to a page of its own.
(() => {
  const dialog = document.getElementById("probe-dialog");
  if (!dialog) return;

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target === dialog && !dialog.open) dialog.showModal();
  });

  // The answer goes to the progress part behind the dialog.
  dialog.addEventListener("submit", () => dialog.close());

  dialog.addEventListener("click", (event) => {
    const beside = event.target === dialog;
    const cancels = event.target.closest("[data-close]");
    if (!beside && !cancels) return;
    event.preventDefault();
    dialog.close();
  });
})();
