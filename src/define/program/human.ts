import type { HumanDocument } from '../../core/domain/program-document.ts';
import { type SchemaOption, toJsonSchema } from './output-schema.ts';
import { type CommonOptions, makeStep, type ProgramStep, splitOptions } from './program-step.ts';

/** The options of `human`. */
export interface HumanOptions extends CommonOptions, Omit<HumanDocument, 'question' | 'output'> {
  /** The schema of the answer. Without it the answer is text. */
  output?: SchemaOption;
}

/** Makes a step that asks a person. Its output is the answer. */
export function human(name: string, question: string, options: HumanOptions = {}): ProgramStep {
  const { output, ...rest } = options;
  const { common, own } = splitOptions(rest);
  const schema = output === undefined ? {} : { output: toJsonSchema(`step "${name}": output`, output) };
  return makeStep(name, { kind: 'human', body: { question, ...own, ...schema }, common });
}
