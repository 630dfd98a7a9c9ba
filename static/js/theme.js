// Loaded before the first paint, so that a chosen theme never flashes. "auto" means no choice.
(() => {
  const CHOICES = ["auto", "light", "dark"];
  const root = document.documentElement;

  const read = () => {
    try {
      const choice = localStorage.getItem("theme");
      return CHOICES.includes(choice) ? choice : "auto";
    } catch {
      return "auto";
    }
  };

  const keep = (choice) => {
    try {
      localStorage.setItem("theme", choice);
    } catch {
      // Storage may be off; the choice then lasts for this page.
    }
  };

  const apply = (choice) => {
    if (choice === "auto") delete root.dataset.theme;
    else root.dataset.theme = choice;
    document.dispatchEvent(new Event("theme-changed"));
  };

  const wire = (group) => {
    const buttons = [...group.querySelectorAll("[data-theme-choice]")];
    const show = (choice) => {
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.themeChoice === choice));
    };
    show(read());
    group.hidden = false;
    group.addEventListener("click", (event) => {
      const choice = event.target.closest("[data-theme-choice]")?.dataset.themeChoice;
      if (!choice) return;
      keep(choice);
      apply(choice);
      show(choice);
    });
  };

  apply(read());
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-theme-group]").forEach(wire);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(read()));
})();
