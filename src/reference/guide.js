// Copies blocks of code and searches the chapters. The pages can be read without it.

/** Without HTTPS, only localhost has a clipboard. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

document.querySelector('main').addEventListener('click', async ({ target: button }) => {
  if (!button.matches('button')) return;
  await copy(button.parentElement.querySelector('code').textContent.trimEnd());
  button.focus();
  button.textContent = 'Copied';
  setTimeout(() => {
    button.textContent = 'Copy';
  }, 2_000);
});

const MINISEARCH = './minisearch.js';

async function loadIndex() {
  const [{ default: MiniSearch }, response] = await Promise.all([import(MINISEARCH), fetch('search.json')]);
  const searchOptions = { prefix: true, fuzzy: 0.2, boost: { title: 3 }, combineWith: 'AND' };
  const index = new MiniSearch({ fields: ['title', 'text'], storeFields: ['title'], searchOptions });
  index.addAll(await response.json());
  return index;
}

const form = document.querySelector('form');
const [input, output] = form.elements;
let loading;

input.addEventListener('input', async () => {
  loading ??= loadIndex();
  const index = await loading;
  const found = index.search(input.value);
  // A whole question rarely has all its words in one section.
  const links = (found.length > 0 ? found : index.search(input.value, { combineWith: 'OR' }))
    .slice(0, 8)
    .map(({ id, title }) => {
      const [chapter] = id.split('#');
      const text = title.toLowerCase() === chapter ? title : `${title} (${chapter})`;
      return Object.assign(document.createElement('a'), { href: id, textContent: text });
    });
  output.replaceChildren(...(links.length || !input.value ? links : ['Nothing was found.']));
});

form.addEventListener('submit', (event) => {
  event.preventDefault();
  output.querySelector('a')?.click();
});
