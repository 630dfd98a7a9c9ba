// Keeps "5 min ago" true, and puts the moment in the reader's own zone into the tooltip.
(() => {
  // In the language of the page: as the server says it, so that nothing changes on the first tick.
  const words = document.getElementById("time-words").dataset;
  const page = document.documentElement.lang;
  // British English on an English page, but no English date on a Chinese one.
  const locale = navigator.languages.find((each) => each.split("-")[0] === page.split("-")[0]) ?? page;
  const moments = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" });

  const rough = (seconds) => {
    if (seconds < 1) return words.instant;
    if (seconds < 60) return words.seconds.replace("{count}", Math.floor(seconds));
    if (seconds < 3600) return words.minutes.replace("{count}", Math.floor(seconds / 60));
    if (seconds < 172800) return words.hours.replace("{count}", Math.floor(seconds / 3600));
    return words.days.replace("{count}", Math.floor(seconds / 86400));
  };

  const relative = (seconds) => {
    if (seconds < 0) return words.ahead.replace("{span}", rough(-seconds));
    return seconds < 5 ? words.now : words.ago.replace("{span}", rough(seconds));
  };

  const told = (time, seconds) => {
    if ("elapsed" in time.dataset) return rough(Math.max(0, seconds));
    return "due" in time.dataset && seconds >= 0 ? words.due : relative(seconds);
  };

  const refresh = () => {
    for (const time of document.querySelectorAll("time[data-relative], time[data-elapsed]")) {
      const moment = new Date(time.dateTime);
      const fresh = told(time, (Date.now() - moment) / 1000);
      if (time.textContent !== fresh) time.textContent = fresh;
      time.title = moments.format(moment);
    }
  };

  refresh();
  setInterval(refresh, 1000);
  document.addEventListener("htmx:load", refresh);
})();
