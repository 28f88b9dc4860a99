import type { AskDocument } from '../../core/domain/program/document.ts';
import { type SchemaOption, toJsonSchema } from './output-schema.ts';
import { type CommonOptions, makeStep, type ProgramStep, splitOptions } from './program-step.ts';

/** The options of `ask`. */
export interface AskOptions extends CommonOptions, Omit<AskDocument, 'prompt' | 'output'> {
  /** The schema of the answer. Without it the answer is text. */
  output?: SchemaOption;
}

/** Makes a step that asks a model once. Its output is the text of the answer, or the value that fits `output`. */
export function ask(name: string, prompt: string, options: AskOptions = {}): ProgramStep {
  const { output, ...rest } = options;
  const { common, own } = splitOptions(rest);
  const body: AskDocument = {
    prompt,
    ...own,
    ...(output === undefined ? {} : { output: toJsonSchema(`step "${name}": output`, output) }),
  };
  return makeStep(name, { kind: 'ask', body, common });
}
