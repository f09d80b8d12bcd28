// Clicks go to the extension, the cursor's line comes from it. Arrow keys go from step to step.
(() => {
  const vscode = acquireVsCodeApi();
  const buttons = [...document.querySelectorAll('button[data-step]')];
  for (const button of buttons) {
    button.addEventListener('click', () => vscode.postMessage({ step: Number(button.dataset.step) }));
  }
  document.addEventListener('keydown', (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined) {
      return;
    }
    const at = buttons.indexOf(document.activeElement);
    const next = buttons[at < 0 ? 0 : Math.min(Math.max(at + by, 0), buttons.length - 1)];
    next?.focus();
    event.preventDefault();
  });
  window.addEventListener('message', ({ data }) => {
    for (const button of buttons) {
      button.classList.toggle('here', data.here.includes(Number(button.dataset.step)));
    }
  });
})();
