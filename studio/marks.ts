import { TEXTS } from './texts.ts';

/** Characters that are invisible, or change how others are shown, except line breaks and tabs. */
const HIDDEN =
  /\p{Cc}|\p{Cf}|\p{Cs}|\p{Co}|\p{Cn}|\p{Zl}|\p{Zp}|\p{Variation_Selector}|[\u115F\u1160\u2800\u3164\uFFA0]|\u034F|\u17B4|\u17B5/u;

/** A picture of several characters, whose joiners hide nothing; a line break of two; or a character that is shown as a mark. */
const PARTS = new RegExp(
  String.raw`(\p{Extended_Pictographic}[\p{EMod}\uFE0F]?(?:\u200D\p{Extended_Pictographic}[\p{EMod}\uFE0F]?)*|[0-9#*]\uFE0F\u20E3|\r\n|[\n\t])|(${HIDDEN.source})`,
  'gu',
);

/** Texts that hide nothing: most are such, and need no search by the properties of characters. On one line, line breaks and tabs would be marks. */
const PLAIN = /^[\n\t -~]*$/;
const PLAIN_LINE = /^[ -~]*$/;

/** A piece of a text: what is shown as it is, or the code of a character that is shown as a mark. */
export type Piece = string | { code: number };

/** Splits a text into what is shown as it is and what is shown as marks. On one line, line breaks and tabs are marks, too. */
export function pieces(text: string, { oneLine = false }: { oneLine?: boolean } = {}): Piece[] {
  if (text !== '' && (oneLine ? PLAIN_LINE : PLAIN).test(text)) return [text];
  const found: Piece[] = [];
  let shown = '';
  let end = 0;
  const mark = (code: number): void => {
    if (shown !== '') found.push(shown);
    shown = '';
    found.push({ code });
  };
  for (const match of text.matchAll(PARTS)) {
    shown += text.slice(end, match.index);
    end = match.index + match[0].length;
    const [whole, plain] = match;
    const isBreak = plain !== undefined && /^[\r\n\t]/.test(plain);
    if (plain !== undefined && !(isBreak && oneLine)) shown += plain;
    else for (const one of whole) mark(one.codePointAt(0) ?? 0);
  }
  shown += text.slice(end);
  if (shown !== '') found.push(shown);
  return found;
}

/** True if a text has characters that would be invisible or would deceive. */
export function hasHidden(text: string): boolean {
  return pieces(text).some((piece) => typeof piece !== 'string');
}

export function codeName(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

const SCRIPTS = [
  'Latin',
  'Cyrillic',
  'Greek',
  'Armenian',
  'Georgian',
  'Cherokee',
  'Coptic',
  'Hebrew',
  'Arabic',
  'Lisu',
  'Deseret',
] as const;
const LETTERS = SCRIPTS.map((script) => [script, new RegExp(String.raw`\p{Script=${script}}`, 'u')] as const);

/** Returns the scripts that a name mixes, whose letters look alike; none if it has letters of one. */
export function mixedScripts(name: string): string[] {
  if (PLAIN.test(name)) return [];
  const found: string[] = LETTERS.flatMap(([script, letter]) => (letter.test(name) ? [script] : []));
  // Full-width and mathematical letters look like other letters of their script.
  const isOther = name.normalize('NFKC') !== name.normalize('NFC');
  return found.length > 1 ? found : isOther ? [...found, TEXTS.otherForms] : [];
}

/** Cuts a text without splitting a character. */
export function beginning(text: string, length: number): string {
  const cut = text.slice(0, length);
  return /[\uD800-\uDBFF]$/.test(cut) && length < text.length ? cut.slice(0, -1) : cut;
}
