import type { ExecutionResult } from './execution-result.ts';
import { type FinalTextOptions, finalText } from './final-text.ts';

/** A cell that has ended. */
export interface EndedCell extends FinalTextOptions {
  result: Pick<ExecutionResult, 'output' | 'error' | 'isFinal' | 'finalValue'>;
  code: string;
  /** The tools that code may call. */
  tools: readonly { name: string; description: string }[];
  /** The working memory as text, empty or absent for none. */
  workingMemory?: string;
}

/** The text of a cell that printed nothing. */
const NO_OUTPUT = '(no output)';

/**
 * Returns the result of a cell as text for an agent that answers with code: what the cell printed, with the working memory; or the
 * error, with the description of each tool whose name occurs in the code.
 */
export function cellFeedback({ result, code, tools, workingMemory = '', ...options }: EndedCell): string {
  const { output, error, isFinal, finalValue } = result;
  if (error !== null) return [`Execution error: ${error.message}`, ...hints(code, tools)].join('\n\n');
  const final = isFinal ? [`Final answer: ${finalText(finalValue, options)}`] : [];
  return [output === '' ? NO_OUTPUT : output, ...final, ...(workingMemory === '' ? [] : [workingMemory])].join('\n\n');
}

function hints(code: string, tools: EndedCell['tools']): string[] {
  const names = new Set(code.match(/[\p{L}\p{N}_$]+/gu));
  return tools
    .filter(({ name, description }) => names.has(name) && description !== '')
    .map(({ name, description }) => `Hint - ${name}() docstring:\n${description}`);
}
