import { codeLiteral } from '../domain/code/code-literal.ts';
import type { CodeLanguage } from '../domain/code/code-snapshot.ts';
import type { JsonValue } from '../domain/json/json.ts';
import { truncateOutput } from './output.ts';

/** The facts about an executor that the text of a final answer depends on. */
export interface FinalTextOptions {
  language: CodeLanguage;
  limits: { maxOutputBytes: number };
}

/**
 * Returns the final answer of code as text, cut to the limit of output: a text itself, another value as JSON, or in Python as Python
 * writes it.
 */
export function finalText(value: JsonValue, { language, limits }: FinalTextOptions): string {
  const text = typeof value === 'string' ? value : language === 'python' ? codeLiteral(value, language) : JSON.stringify(value);
  return truncateOutput(text, limits.maxOutputBytes).text;
}
