// Draws every [data-chart] from the JSON beside it. Colours come from the style sheet.
(() => {
  const probe = document.createElement("span");
  probe.hidden = true;

  // Custom properties may hold light-dark(); only a used colour is resolved.
  const colour = (value) => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };

  const each = (value, change) => {
    if (typeof value === "string") return change(value);
    if (Array.isArray(value)) return value.map((item) => each(item, change));
    if (value && typeof value === "object") {
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, each(item, change)]),
      );
    }
    return value;
  };

  const UTC = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
  const INSIDE = /<time>([^<]*)<\/time>/g;
  const local = (text) =>
    UTC.test(text) ? zones.wall(text) : text.replace(INSIDE, (_, moment) => zones.words(moment));

  const read = (chart) => {
    const source = document.getElementById(chart.dataset.chart);
    let figure = JSON.parse(source.textContent);
    if ("localTimes" in chart.dataset) {
      figure = each(figure, local);
      figure.layout.xaxis.title.text = chart.dataset.axis.replace("{zone}", zones.name);
    }
    figure = each(figure, (text) => (text.startsWith("var(--") ? colour(text) : text));
    // Labels stay level; a narrow chart gets fewer of them.
    figure.layout.xaxis.nticks = Math.max(3, Math.floor(chart.clientWidth / 110));
    return figure;
  };

  // The names of days and months, as the reader's language has them.
  const speak = (language) => {
    if (!language || language.startsWith("en")) return "en";
    const name = (options, day) => new Intl.DateTimeFormat(language, options).format(day);
    const months = [...Array(12).keys()].map((month) => new Date(2026, month, 1));
    const days = [...Array(7).keys()].map((day) => new Date(2026, 1, day + 1)); // from a Sunday
    Plotly.register({
      moduleType: "locale",
      name: language,
      dictionary: {},
      format: {
        months: months.map((day) => name({ month: "long" }, day)),
        shortMonths: months.map((day) => name({ month: "short" }, day)),
        days: days.map((day) => name({ weekday: "long" }, day)),
        shortDays: days.map((day) => name({ weekday: "short" }, day)),
      },
    });
    return language;
  };
  let locale;

  const draw = (chart) => {
    locale ??= speak(document.documentElement.lang);
    const figure = read(chart);
    // A finger that scrolls the page must not draw a frame.
    if (matchMedia("(pointer: coarse)").matches) figure.layout.dragmode = false;
    const config = { responsive: true, displayModeBar: false, doubleClick: false, locale };
    Plotly.react(chart, figure.data, figure.layout, config);
  };

  const drawAll = (within) => {
    if (!probe.isConnected) document.body.append(probe);
    within.querySelectorAll("[data-chart]").forEach(draw);
  };

  const open = (event) => {
    const run = event.points[0]?.customdata;
    if (run) location.assign(`/runs/${run}/`);
  };

  // A picture to paste: on white, with what it shows and of whom. No <b> or <sub> in its words:
  // Plotly would write style attributes for them, which no page here may have.
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const download = (chart) => {
    probe.style.colorScheme = "light";
    const figure = read(chart);
    const text = plain(chart.dataset.title);
    const font = { size: 17, weight: 600, color: colour("var(--text)") };
    const muted = { size: 13, color: colour("var(--muted)") };
    const subtitle = { text: plain(chart.dataset.of), font: muted };
    const paper = colour("var(--surface)");
    probe.style.colorScheme = "";
    const title = { text, subtitle, x: 0.02, xanchor: "left", y: 0.95, yanchor: "top", font };
    const margin = { ...figure.layout.margin, t: 80, b: 110 };
    const look = { title, margin, paper_bgcolor: paper, plot_bgcolor: paper };
    const layout = { ...figure.layout, ...look, autosize: false, width: 1200, height: 600 };
    const size = { format: "png", width: 1200, height: 600, scale: 2 };
    const asked = { data: figure.data, layout, config: { locale } };
    return Plotly.downloadImage(asked, { ...size, filename: chart.dataset.name });
  };

  document.addEventListener("htmx:load", (event) => {
    drawAll(event.target);
    event.target.querySelectorAll("[data-chart]").forEach((chart) => chart.on("plotly_click", open));
    event.target.querySelectorAll("[data-picture]").forEach((button) => {
      button.hidden = false;
      const chart = button.closest(".card").querySelector("[data-chart]");
      button.addEventListener("click", () => download(chart));
    });
  });
  document.addEventListener("htmx:beforeCleanupElement", (event) => {
    if (event.target.dataset?.chart) Plotly.purge(event.target);
  });
  document.addEventListener("theme-changed", () => drawAll(document));
  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => drawAll(document), 200);
  });
})();
