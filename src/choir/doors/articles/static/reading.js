// Buttons that copy what they name.

for (const button of document.querySelectorAll("[data-copy-from]")) {
  button.addEventListener("click", async () => {
    const place = document.getElementById(button.dataset.copyFrom);
    try {
      await navigator.clipboard.writeText(place.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it and copy manually";
      place.focus();
    }
  });
}
