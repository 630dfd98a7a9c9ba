// The fleet page: shows a changed list at once, unless somebody is busy with the one that is there.
(() => {
  const busy = () => document.querySelector("[data-rows]:hover, [data-rows]:focus-within");

  document.addEventListener("htmx:afterRequest", () => {
    const link = document.querySelector("#fleet-moved [data-moved]");
    if (link && !busy()) link.click();
  });
})();
