import { z } from 'zod';
import { type Duration, milliseconds } from '../../core/domain/time.ts';
import { LonghaulError, UsageError } from '../../core/domain/errors.ts';
import type { ToolCaller } from '../../core/domain/agent.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import { jsonSchemaOf } from '../../schema/zod-json-schema.ts';
import { defineTool, type ObjectSchema } from './define-tool.ts';
import { requireKnown, requireZod } from '../options/option-checks.ts';
import type { ToolDefinition } from './tool-definition.ts';

/** The default of `parameters`: the question of the model. */
const QUESTION = z.object({ question: z.string().describe('What you want to know, in full: the person sees nothing else.') });

/** The options of `askHuman`. */
export interface AskHumanOptions<Answer extends z.ZodType, Parameters extends ObjectSchema> {
  /** Letters, digits, `_` and `-`, at most 64. Runs that wait for an answer are found by it. */
  name: string;
  /** Tells the model what it can ask a person, and when to ask. */
  description: string;
  /** The schema of the question that the model asks. Default: `{question: string}`. */
  parameters?: Parameters;
  /** The schema of the answer: `z.string()`, a `z.enum([...])` of choices, an object for a form. Checked before the answer is accepted. */
  answer: Answer;
  /** The time that the question waits; afterwards the model reads that there is no answer. Default: the agent's, else unlimited. */
  deadline?: Duration;
  /** The callers of the tool, as for any other: `model`, `code`, or both. Default: both. */
  callers?: readonly ToolCaller[];
}

const OPTIONS = ['name', 'description', 'parameters', 'answer', 'deadline', 'callers'];

/**
 * Defines a tool with which a model asks a person. It has no code: each call waits, and the answer that a person sends
 * (`respond`) is its result for the model. Throws a `UsageError` that names the tool and the option if one cannot work,
 * such as an answer that JSON cannot represent.
 *
 * @example
 * const askSupport = askHuman({
 *   name: 'ask_support',
 *   description: 'Asks a colleague in support. Use it when the order does not say enough.',
 *   answer: z.object({ refund: z.boolean(), note: z.string() }),
 *   deadline: '2d',
 * });
 */
export function askHuman<Answer extends z.ZodType, Parameters extends ObjectSchema = typeof QUESTION>(
  options: AskHumanOptions<Answer, Parameters>,
): ToolDefinition<z.output<Parameters>, Record<string, unknown>, z.input<Answer>> {
  const { name, description, answer, deadline, callers } = options;
  const owner = `tool "${name}"`;
  const execute = (): never => {
    throw new LonghaulError('internal', `"${name}" asks a person: its calls are answered with respond, and never run`);
  };
  // Never approved at the deadline, even if the agent says so: a question without an answer has no result.
  const approval = {
    onDeadline: 'reject' as const,
    ...(deadline === undefined ? {} : { deadline: milliseconds(deadline, `${owner}: "deadline"`) }),
  };
  const tool = defineTool({
    name,
    description,
    parameters: options.parameters ?? QUESTION,
    execute,
    approval,
    ...(callers === undefined ? {} : { callers }),
  });
  requireKnown(owner, options, OPTIONS);
  return { ...tool, answer: answerSchema(owner, answer) };
}

/** Returns the JSON Schema of the answer. An answer is never parsed with zod, so a check that JSON Schema cannot express would not apply. */
function answerSchema(owner: string, answer: z.ZodType): JsonObject {
  requireZod(`${owner}: "answer"`, answer);
  const schema = jsonSchemaOf(answer, `${owner}: answer`);
  jsonSchemaOf(answer, `${owner}: answer`, 'output');
  if (!hasRefinement(answer)) return schema;
  throw new UsageError(
    `${owner}: answer has a check in code (refine, check), which is not applied to answers: express it in the schema alone`,
  );
}

function hasRefinement(answer: z.ZodType): boolean {
  let found = false;
  z.toJSONSchema(answer, {
    unrepresentable: 'any',
    override: ({ zodSchema }) => {
      const { def } = zodSchema._zod;
      found ||=
        'checks' in def && Array.isArray(def.checks) && def.checks.some((check: z.core.$ZodCheck) => check._zod.def.check === 'custom');
    },
  });
  return found;
}
