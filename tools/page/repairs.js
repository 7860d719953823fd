// What Scalar leaves out, for readers without a mouse or with a screen reader. It is a part of docs/reference/page.html.

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

function copyButton(code) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'guide-copy';
  button.textContent = 'Copy';
  button.ariaLive = 'polite';
  button.addEventListener('click', async () => {
    await copy(code.textContent.trimEnd());
    button.focus();
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2_000);
  });
  return button;
}

const all = (selector) => [...document.querySelectorAll(selector)];

function repair() {
  for (const code of all('.markdown pre > code:only-child')) code.after(copyButton(code));
  // The keys of the arrows scroll what has the focus.
  for (const block of all('.markdown pre > code, ul.endpoints')) {
    const scrolls = block.scrollWidth > block.clientWidth || block.scrollHeight > block.clientHeight;
    if (scrolls) block.tabIndex = 0;
    else block.removeAttribute('tabindex');
  }
  for (const button of all('.scalar-code-copy:not([aria-label])')) button.ariaLabel = 'Copy';
  // Who speaks to the machine says the words that are to be seen.
  for (const button of all('.show-more[aria-label]')) {
    const words = button.textContent.trim();
    if (!button.ariaLabel.includes(words)) button.ariaLabel = `${words}: ${button.ariaLabel}`;
  }
}

let isDue = false;
function repairSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    repair();
  });
}

new MutationObserver(repairSoon).observe(document.body, { childList: true, subtree: true });
addEventListener('resize', repairSoon);
