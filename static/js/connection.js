// Says since when a page that refreshes itself is not fresh any more, and stops when it is again.
(() => {
  const banner = document.querySelector("[data-connection]");
  const { unanswered, refused } = document.querySelector("[data-toasts]").dataset;
  let fresh = new Date();

  const lost = () => {
    const time = fresh.toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit" });
    banner.textContent = banner.dataset.words.replace("{time}", time);
    banner.hidden = false;
  };

  const found = () => {
    fresh = new Date();
    banner.hidden = true;
  };

  const tell = (text) => document.dispatchEvent(new CustomEvent("toast", { detail: { text, level: "error" } }));

  // What a person sent is not sent again by itself: they have to know.
  const failed = (event) => {
    if (event.detail.requestConfig.verb === "get") lost();
    else tell(unanswered);
  };

  document.addEventListener("htmx:sendError", failed);
  document.addEventListener("htmx:timeout", failed);
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    if (status >= 500) failed(event);
    else if (status === 403 && event.detail.requestConfig.verb !== "get") tell(refused);
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) found();
  });
})();
