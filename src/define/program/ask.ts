import type { AskDocument } from '../../core/domain/program/document.ts';
import type { AnyTool } from '../tool-definition.ts';
import { definitionName } from './definition-name.ts';
import { type SchemaOption, toJsonSchema } from './output-schema.ts';
import { type CommonOptions, makeStep, type ProgramStep, splitOptions } from './program-step.ts';
import { NO_USES } from './program-uses.ts';

/** The options of `ask`. */
export interface AskOptions extends CommonOptions, Omit<AskDocument, 'prompt' | 'output' | 'tools'> {
  /** The schema of the answer. Without it the answer is text. */
  output?: SchemaOption;
  /** Tools that the model may call, or their names. */
  tools?: readonly (AnyTool | string)[];
}

/** Makes a step that asks a model once. Its output is the text of the answer, or the value that fits `output`. */
export function ask(name: string, prompt: string, options: AskOptions = {}): ProgramStep {
  const { output, tools, ...rest } = options;
  const { common, own } = splitOptions(rest);
  const body: AskDocument = {
    prompt,
    ...own,
    ...(output === undefined ? {} : { output: toJsonSchema(`step "${name}": output`, output) }),
    ...(tools === undefined ? {} : { tools: tools.map((one) => definitionName(`step "${name}"`, 'tool', one)) }),
  };
  const given = (tools ?? []).filter((one) => typeof one !== 'string');
  return makeStep(name, { kind: 'ask', body, common, uses: [{ ...NO_USES, tools: given }] });
}
