import { z } from 'zod';
import { type Duration, milliseconds } from '../core/domain/run/duration.ts';
import { LonghaulError, UsageError } from '../core/domain/errors/error.ts';
import type { JsonObject } from '../core/domain/json/json.ts';
import { jsonSchemaOf } from '../schema/zod-json-schema.ts';
import { defineTool, type ObjectSchema } from './define-tool.ts';
import { requireKnown, requireZod } from './options/option-checks.ts';
import type { ToolDefinition } from './tool-definition.ts';

/** What the model says where `parameters` are left out. */
const QUESTION = z.object({ question: z.string().describe('What you want to know, in full: the person sees nothing else.') });

/** What a question to a person is made of. */
export interface AskHumanOptions<Answer extends z.ZodType, Parameters extends ObjectSchema> {
  /** Letters, digits, `_` and `-`, at most 64. Runs that wait for an answer are found by it. */
  name: string;
  /** For the model: what a person can be asked, and when to ask. */
  description: string;
  /** What the model says when it asks. Default: `{question: string}`. */
  parameters?: Parameters;
  /** What the answer looks like: `z.string()`, a `z.enum([...])` of choices, an object for a form. Checked before the answer is taken. */
  answer: Answer;
  /** How long the question waits; the model is then told that nobody answered. Default: what the agent says, else for as long as it takes. */
  deadline?: Duration;
}

const OPTIONS = ['name', 'description', 'parameters', 'answer', 'deadline'];

/**
 * A tool with which a model asks a person. It has no code: each call waits, and what somebody answers it with
 * (`respond`) is its result for the model. Throws a `UsageError` that names the tool and the option for what could not
 * work, such as an answer that JSON cannot represent.
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
  const { name, description, answer, deadline } = options;
  const owner = `tool "${name}"`;
  const execute = (): never => {
    throw new LonghaulError('internal', `"${name}" asks a person: its calls are answered with respond, and never run`);
  };
  // Never approved by the clock, whatever the agent says: a question that nobody answered has no answer.
  const approval = {
    onDeadline: 'reject' as const,
    ...(deadline === undefined ? {} : { deadline: milliseconds(deadline, `${owner}: "deadline"`) }),
  };
  const tool = defineTool({ name, description, parameters: options.parameters ?? QUESTION, execute, approval });
  requireKnown(owner, options, OPTIONS);
  return { ...tool, answer: answerSchema(owner, answer) };
}

/** Nothing parses an answer: what its JSON Schema cannot say would hold for no answer. */
function answerSchema(owner: string, answer: z.ZodType): JsonObject {
  requireZod(`${owner}: "answer"`, answer);
  const schema = jsonSchemaOf(answer, `${owner}: answer`);
  jsonSchemaOf(answer, `${owner}: answer`, 'output');
  if (!hasRefinement(answer)) return schema;
  throw new UsageError(
    `${owner}: answer has a check in code (refine, check), which no answer would be put through: say it with the schema alone`,
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
