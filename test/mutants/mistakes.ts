import { readFileSync } from 'node:fs';

export type Mistake = {
  name: string;
  sentence: string;
  /** The test that must detect it. */
  test: string;
  /** Each replaces a text that its file has once. */
  changes: { path: string; text: string; mistake: string }[];
};

const MISTAKE =
  /^(?<name>[\w-]+): (?<sentence>.+\.)\nin (?<first>\S+), detected by (?<test>\S+)\n(?<rest>[\s\S]+)$/;

/** The lines with one of the signs, without it. */
const linesWith = (signs: string, lines: string[]): string => {
  const found = lines.filter((line) => signs.includes(line.charAt(0))).map((line) => line.slice(1));
  return ['', ...found, ''].join('\n');
};

/** mistakes.txt: lines are changed as in a patch, and `in` begins the change of another place. */
export const MISTAKES = readFileSync(new URL('mistakes.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n\n')
  .map((block): Mistake => {
    const { name = '', sentence = '', test = '', first = '', rest = '' } = MISTAKE.exec(block)?.groups ?? {};
    const changes = `${first}\n${rest}`.split('\nin ').map((change) => {
      const [path = '', ...lines] = change.split('\n');
      return { path, text: linesWith(' -', lines), mistake: linesWith(' +', lines) };
    });
    return { name, sentence, test, changes };
  });
