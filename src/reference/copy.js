// Copies the example below a button. Without HTTPS, browsers have no clipboard: it selects the example.
document.addEventListener('click', async ({ target: button }) => {
  if (!button.matches('main button')) return;
  const example = button.nextElementSibling;
  getSelection().selectAllChildren(example);
  await navigator.clipboard?.writeText(example.textContent.trimEnd());
  button.textContent = navigator.clipboard ? 'Copied' : 'Selected';
});
