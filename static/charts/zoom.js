// The chart of an endpoint follows its address: links, the form, dragging, back and forward.
(() => {
  let shown = location.search;

  // What the address says of other parts of the page stays in it.
  const beside = (search) => {
    const asked = new URLSearchParams(search);
    for (const [name, value] of new URLSearchParams(location.search)) {
      if (!["metric", "range", "from", "to"].includes(name)) asked.append(name, value);
    }
    return `?${asked}`;
  };

  const show = (search, isNew) => {
    const part = document.getElementById("chart-part");
    if (!part) return;
    if (isNew) history.pushState({ chart: true }, "", location.pathname + beside(search));
    shown = location.search;
    htmx.ajax("GET", part.dataset.part + search, { target: part, swap: "outerHTML" });
  };

  // Dragging over the chart asks for that time; the server decides how fine it can be shown.
  const dragged = (chart, moved) => {
    const [from, to] = [moved["xaxis.range[0]"], moved["xaxis.range[1]"]];
    if (from === undefined || to === undefined) return;
    const asked = new URLSearchParams(chart.closest("#chart-part").getAttribute("hx-get").split("?")[1]);
    asked.set("from", zones.utc(from));
    asked.set("to", zones.utc(to));
    show(`?${asked}`, true);
  };

  document.addEventListener("htmx:load", (event) => {
    for (const chart of event.target.querySelectorAll("[data-zoomable]")) {
      chart.on("plotly_relayout", (moved) => dragged(chart, moved));
      chart.on("plotly_doubleclick", () => {
        if (chart.dataset.reset) show(chart.dataset.reset, true);
      });
    }
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-follow]");
    const isPlain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!link || !isPlain || event.button !== 0) return;
    event.preventDefault();
    show(new URL(link.href).search, true);
  });

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-own-range]")) return;
    event.preventDefault();
    const asked = new URLSearchParams(new FormData(event.target));
    for (const name of ["from", "to"]) asked.set(name, zones.utc(asked.get(name)));
    show(`?${asked}`, true);
  });

  addEventListener("popstate", (event) => {
    // Where htmx wrote the address, it brings back the whole page.
    if (event.state?.htmx) shown = location.search;
    else if (location.search !== shown) show(location.search, false);
  });
})();
