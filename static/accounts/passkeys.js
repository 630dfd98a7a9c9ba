// Passkeys: asks the browser for one, puts its answer into the form, and sends the form.
// A form with data-passkey="address" fetches its question there; one with data-new-passkey="id"
// finds it in the page. Where the browser has no passkeys, or the page was opened by a bare
// address, forms that sign in stay hidden.
(() => {
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));

  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

  const described = (list) => (list ?? []).map((each) => ({ ...each, id: bytes(each.id) }));

  const get = async ({ publicKey }) => {
    const asked = { ...publicKey, challenge: bytes(publicKey.challenge), allowCredentials: described(publicKey.allowCredentials) };
    const { id, rawId, type, response, ...found } = await navigator.credentials.get({ publicKey: asked }).then(open);
    const { authenticatorData, clientDataJSON, signature, userHandle } = response;
    const answer = { authenticatorData: text(authenticatorData), clientDataJSON: text(clientDataJSON), signature: text(signature) };
    return { id, type, rawId: text(rawId), response: { ...answer, userHandle: userHandle && text(userHandle) }, ...found };
  };

  const create = async ({ publicKey }) => {
    const user = { ...publicKey.user, id: bytes(publicKey.user.id) };
    const asked = { ...publicKey, user, challenge: bytes(publicKey.challenge), excludeCredentials: described(publicKey.excludeCredentials) };
    const { id, rawId, type, response, ...found } = await navigator.credentials.create({ publicKey: asked }).then(open);
    const { attestationObject, clientDataJSON } = response;
    return { id, type, rawId: text(rawId), response: { attestationObject: text(attestationObject), clientDataJSON: text(clientDataJSON) }, ...found };
  };

  // A credential's fields are getters of its class, which spreading does not see.
  const open = (found) => ({ id: found.id, rawId: found.rawId, type: found.type, response: found.response, clientExtensionResults: found.getClientExtensionResults() });

  const question = async (form) => {
    const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
    const answer = await fetch(form.dataset.passkey, { method: "POST", headers: { "X-CSRFToken": token } });
    if (!answer.ok) throw new Error(answer.status);
    return answer.json();
  };

  const passkey = async (form) => {
    const there = form.dataset.newPasskey;
    if (!there) return get(await question(form));
    return create(JSON.parse(document.getElementById(there).textContent));
  };

  const send = async (event) => {
    event.preventDefault();
    const form = event.target.closest("form");
    const trouble = form.querySelector("[data-trouble]");
    trouble.hidden = true;
    try {
      form.elements.credential.value = JSON.stringify(await passkey(form));
      form.submit();
    } catch {
      trouble.className = "message error";
      trouble.textContent = form.dataset.refused;
      trouble.hidden = false;
    }
  };

  const bare = /^[\d.]+$|^\[/.test(location.hostname);
  for (const form of document.querySelectorAll("[data-passkey], [data-new-passkey]")) {
    if (!window.PublicKeyCredential || bare) continue;
    form.hidden = false;
    form.addEventListener("submit", send);
    form.querySelector("button[type=button]")?.addEventListener("click", send);
  }
})();
