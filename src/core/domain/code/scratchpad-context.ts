import { shortened } from '../content/text.ts';
import type { CodeLanguage } from './code-snapshot.ts';
import { codeLiteral } from './code-literal.ts';
import type { Scratchpad } from './scratchpad.ts';

/** Characters of a stored value that the model is shown. */
const VALUE_LENGTH = 100;

/** Returns the working memory as the model reads it; an empty text if nothing is in it. */
export function scratchpadContext({ values, observations, failed }: Scratchpad, language: CodeLanguage): string {
  const lines = [
    ...section(
      'Stored Values',
      Object.entries(values).map(([name, value]) => `${name}: ${shortened(codeLiteral(value, language), VALUE_LENGTH)}`),
    ),
    ...section('Observations', observations),
    ...section('Failed Approaches (avoid these)', failed),
  ];
  return lines.length === 0 ? '' : ['## Working Memory', ...lines].join('\n');
}

function section(title: string, entries: readonly string[]): string[] {
  return entries.length === 0 ? [] : ['', `### ${title}`, ...entries.map((entry) => `- ${entry}`)];
}
