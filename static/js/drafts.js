// Keeps what was typed into a form until it is known to have arrived. A page that says so (an
// element with the class "unsent") means it did not; the form then gets its words back when the
// person returns to it. Kept in this tab alone, and never what is secret.
(() => {
  const KEY = "draft";
  const LONGEST = 200000;
  const SECRET = new Set(["password", "file", "hidden", "submit", "button"]);

  const load = () => {
    try {
      return JSON.parse(sessionStorage.getItem(KEY));
    } catch {
      return null;
    }
  };

  const save = (draft) => {
    try {
      const text = JSON.stringify(draft);
      if (draft && text.length <= LONGEST) sessionStorage.setItem(KEY, text);
      else sessionStorage.removeItem(KEY);
    } catch {
      // Storage may be off or full; the page still says that nothing was sent.
    }
  };

  const typed = (form) => [...form.elements].filter((field) => field.name && !SECRET.has(field.type));

  // Several forms may go to one address; what they carry unseen tells them apart.
  const nameOf = (form) => {
    const unseen = [...form.querySelectorAll("input[type=hidden]:not([name=csrfmiddlewaretoken])")];
    return [form.getAttribute("action") ?? "", ...unseen.map((field) => `${field.name}=${field.value}`)].join(" ");
  };

  const keep = (event) => {
    const form = event.target;
    // Signing in and confirming who one is happen in between.
    const passing = "[autocomplete=current-password]";
    if (form.method !== "post" || form.hasAttribute("data-passing") || form.querySelector(passing)) return;
    const fields = typed(form).map((field) => [field.name, field.value, Boolean(field.checked)]);
    if (fields.length) save({ path: location.pathname, form: nameOf(form), fields });
  };

  const fill = (form, fields) => {
    const left = typed(form);
    for (const [name, value, checked] of fields) {
      const choice = (field) => field.type === "checkbox" || field.type === "radio";
      const at = left.findIndex((field) => field.name === name && (!choice(field) || field.value === value));
      if (at < 0) continue;
      const [field] = left.splice(at, 1);
      if (choice(field)) field.checked = checked;
      else field.value = value;
    }
    for (let part = form.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  };

  const restore = (draft) => {
    const form = [...document.forms].find((each) => nameOf(each) === draft.form);
    if (!form) return;
    fill(form, draft.fields);
    const text = document.querySelector("[data-toasts]").dataset.restored;
    document.dispatchEvent(new CustomEvent("toast", { detail: { text, level: "warning" } }));
  };

  const draft = load();
  if (draft && document.querySelector(".unsent")) save({ ...draft, unsent: true });
  else if (draft?.unsent && location.pathname === draft.path) {
    restore(draft);
    save(null);
  } else if (!draft?.unsent) save(null);
  document.addEventListener("submit", keep, true);
})();
