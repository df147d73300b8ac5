"use strict";
document.documentElement.classList.add("js");

async function copyText(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
  } catch {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    if (!document.execCommand("copy")) throw new Error("copying is not allowed here");
    selection.removeAllRanges();
  }
}

for (const button of document.querySelectorAll("button.copy")) {
  const label = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await copyText(document.getElementById(button.dataset.copy));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy by hand";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([data-long])")) details.open = true;
});
