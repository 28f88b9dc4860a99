import type { RequestProblem } from '../../../problems/request-error.ts';

/** Returns the name of the parameter that a problem is about, as the OpenAI protocol writes it: `messages[0].role`. */
export function paramOf({ pointer, parameter }: RequestProblem): string | undefined {
  if (pointer === undefined) return parameter;
  const tokens = pointer
    .split('/')
    .slice(1)
    .map((token) => decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~'));
  return tokens.length === 0 ? undefined : pathText(tokens);
}

/** Returns a path as text: `messages[0].role`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (/^\d+$/.test(String(part))) return `${text}[${String(part)}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}
