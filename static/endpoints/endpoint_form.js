// The endpoint form: examples that fit the chosen provider, and a proposed base URL by one click.
"use strict";

const form = document.querySelector("[data-endpoint-form]");
const examples = JSON.parse(document.getElementById("provider-examples").textContent);

function showExamples() {
  const example = examples[form.elements.provider.value];
  if (!example) return;
  form.elements.base_url.placeholder = example.base_url;
  form.elements.model.placeholder = example.model;
}

// Without this script the buttons could do nothing, so they come hidden.
function revealProposals() {
  for (const button of form.querySelectorAll("[data-use-base-url]")) button.hidden = false;
}

form.elements.provider.addEventListener("change", showExamples);
form.addEventListener("click", (event) => {
  const button = event.target.closest("[data-use-base-url]");
  if (!button) return;
  form.elements.base_url.value = button.dataset.useBaseUrl;
  form.elements.base_url.focus();
});
document.addEventListener("htmx:afterSettle", revealProposals);
showExamples();
revealProposals();
