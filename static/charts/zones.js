// Times in the reader's own zone: in charts, in tables, and in forms that ask for a time.
window.zones = (() => {
  const two = (number) => String(number).padStart(2, "0");
  const language = document.documentElement.lang || undefined;
  const long = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });

  const name = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

  // "2026-11-03 12:00:00" in UTC becomes the same moment by the reader's clock.
  const wall = (utc) => {
    const at = new Date(`${utc.replace(" ", "T")}Z`);
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  };

  // And back, from a chart or a form; what is no time stays what it is.
  const utc = (local) => {
    const at = new Date(String(local).replace(" ", "T"));
    return Number.isNaN(at.getTime()) ? local : `${at.toISOString().slice(0, 19)}Z`;
  };

  const words = (moment) => long.format(new Date(moment));

  const ownTimes = (within) => {
    for (const time of within.querySelectorAll("time[data-local]")) {
      time.textContent = words(time.dateTime);
      time.title = `${time.dateTime} (${name})`;
    }
    for (const form of within.querySelectorAll("form[data-zone-word]")) {
      for (const input of form.querySelectorAll("input[type=datetime-local]")) {
        if (input.value) input.value = wall(input.value).slice(0, 16).replace(" ", "T");
      }
      const said = form.dataset.zoneWord.replace("{zone}", name);
      const place = form.querySelector("[data-zone], label[for=note_at]");
      if (place) (place.matches("label") ? place.firstChild : place).textContent = `${said} `;
    }
  };

  document.addEventListener("htmx:load", (event) => ownTimes(event.target));
  document.addEventListener("htmx:configRequest", (event) => {
    const { elt, parameters } = event.detail;
    if (elt.matches("form[data-zone-word]") && parameters.at) parameters.at = utc(parameters.at);
  });
  return { name, wall, utc, words };
})();
