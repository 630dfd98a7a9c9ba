// Opens <dialog id="x"> for [data-opens="x"], which without scripts is a link to a page that asks
// the same; closes it for [data-closes] and on a press beside it. Escape is the browser's, but for
// hints, which go away with it too.
(() => {
  document.querySelectorAll("[data-opens][hidden]").forEach((opener) => (opener.hidden = false));

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) {
      event.preventDefault();
      document.getElementById(opener.dataset.opens).showModal();
    }
    if (event.target.closest("[data-closes]")) event.target.closest("dialog").close();
    if (event.target instanceof HTMLDialogElement) event.target.close();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const hint of document.querySelectorAll(".hint:hover, .hint:focus-within")) {
      hint.classList.add("dismissed");
      for (const end of ["pointerleave", "focusout"]) hint.addEventListener(end, () => hint.classList.remove("dismissed"), { once: true });
    }
  });
})();
