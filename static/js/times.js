// Keeps "5 min ago" true, and puts the moment in the reader's own zone into the tooltip.
(() => {
  const rough = (seconds) => {
    if (seconds < 60) return `${Math.floor(seconds)} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} d`;
  };

  const relative = (seconds) => {
    if (seconds < 0) return `in ${rough(-seconds)}`;
    return seconds < 5 ? "just now" : `${rough(seconds)} ago`;
  };

  const words = (time, seconds) => {
    if ("elapsed" in time.dataset) return rough(Math.max(0, seconds));
    return "due" in time.dataset && seconds >= 0 ? "due now" : relative(seconds);
  };

  const refresh = () => {
    for (const time of document.querySelectorAll("time[data-relative], time[data-elapsed]")) {
      const moment = new Date(time.dateTime);
      const fresh = words(time, (Date.now() - moment) / 1000);
      if (time.textContent !== fresh) time.textContent = fresh;
      time.title = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
    }
  };

  refresh();
  setInterval(refresh, 1000);
  document.addEventListener("htmx:load", refresh);
})();
