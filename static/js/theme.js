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

  const wire = (button) => {
    const word = button.querySelector("[data-theme-word]");
    const show = (choice) => {
      word.textContent = choice[0].toUpperCase() + choice.slice(1);
      button.setAttribute("aria-label", `Theme: ${choice}. Change it.`);
    };
    let choice = read();
    show(choice);
    button.hidden = false;
    button.addEventListener("click", () => {
      choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
      keep(choice);
      apply(choice);
      show(choice);
    });
  };

  apply(read());
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-theme-button]");
    if (button) wire(button);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(read()));
})();
