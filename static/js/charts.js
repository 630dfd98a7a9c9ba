// Draws every [data-chart] from the JSON beside it. Colours come from the style sheet.
(() => {
  const probe = document.createElement("span");
  probe.hidden = true;

  // Custom properties may hold light-dark(); only a used colour is resolved.
  const colour = (value) => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };

  const resolve = (value) => {
    if (typeof value === "string") return value.startsWith("var(--") ? colour(value) : value;
    if (Array.isArray(value)) return value.map(resolve);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolve(item)]));
    }
    return value;
  };

  const draw = (chart) => {
    const source = document.getElementById(chart.dataset.chart);
    const figure = resolve(JSON.parse(source.textContent));
    // Labels stay level; a narrow chart gets fewer of them.
    figure.layout.xaxis.nticks = Math.max(3, Math.floor(chart.clientWidth / 110));
    Plotly.react(chart, figure.data, figure.layout, { responsive: true, displayModeBar: false });
  };

  const drawAll = (within) => {
    if (!probe.isConnected) document.body.append(probe);
    within.querySelectorAll("[data-chart]").forEach(draw);
  };

  const open = (event) => {
    const run = event.points[0]?.customdata;
    if (run) location.assign(`/runs/${run}/`);
  };

  document.addEventListener("htmx:load", (event) => {
    drawAll(event.target);
    event.target.querySelectorAll("[data-chart]").forEach((chart) => chart.on("plotly_click", open));
  });
  document.addEventListener("htmx:beforeCleanupElement", (event) => {
    if (event.target.dataset?.chart) Plotly.purge(event.target);
  });
  document.addEventListener("theme-changed", () => drawAll(document));
})();
