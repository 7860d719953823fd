// Adds a button that copies to each block of code. The pages work without it.

/** Over plain http, under any name but localhost, a page has no clipboard of its own. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

for (const block of document.querySelectorAll('.code')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.ariaLive = 'polite';
  button.addEventListener('click', async () => {
    await copy(block.querySelector('code').textContent.trimEnd());
    button.focus();
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2_000);
  });
  block.append(button);
}
