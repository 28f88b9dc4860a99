import type { z } from 'zod';
import { UsageError } from '../../core/domain/errors.ts';
import type { JsonObject, JsonValue } from '../../core/domain/json.ts';
import type { LimitOptions } from '../../core/domain/limits.ts';
import { checkProgram } from '../../core/program/check/check-program.ts';
import type { Problem } from '../../core/program/check/problems.ts';
import type { ProgramDocument } from '../../core/domain/program-document.ts';
import { isZod, toJsonSchema } from './output-schema.ts';
import type { ProgramDefinition, ProgramUses } from './program-definition.ts';
import { type AnyUnit, unitDocument, usesOf } from './program-step.ts';
import { joinUses } from './program-uses.ts';

/** The options of `defineProgram`. */
export interface ProgramOptions<Input extends z.ZodType | JsonObject> {
  /** Names the program for clients and the Temporal UI. */
  name: string;
  /** The model of every `ask` that names none: `provider/model`. */
  model?: string;
  /** The schema of the input, an object. Default: any object. */
  input?: Input;
  units: readonly AnyUnit[];
  /** The output, with references to the steps of units. Default: the output of the last step of the last unit. */
  output?: JsonValue;
  /** The limits of a run. `steps` counts model calls. */
  limits?: LimitOptions;
  /** `ask`: at a limit, a person is asked to raise it. Default `stop`: the run ends. */
  onLimit?: 'stop' | 'ask';
  /** True: unknown references stay as written and unknown anchors are ignored. Default false. */
  lenient?: boolean;
}

/** The type of input that a start of a program takes. */
export type GivenInputFor<Input> = Input extends z.ZodType ? z.input<Input> : JsonObject;

/** The type of a program's input as its schema parses it. */
export type InputFor<Input> = Input extends z.ZodType ? z.output<Input> : JsonObject;

/**
 * Defines a program. Its steps are made with the functions of `longhaul/program`, or written as parts of a document. Throws a
 * `UsageError` that lists all problems with their paths.
 *
 * @example
 * const triage = defineProgram({
 *   name: 'triage',
 *   model: 'openai/gpt-5-mini',
 *   input: z.object({ ticket: z.string() }),
 *   units: [
 *     unit('sort', { persona: 'You sort the tickets of a bank.' }, [ask('Kind', 'What is this about? {{input.ticket}}')]),
 *     unit('reply', {}, [agent('Letter', desk, 'Answer {{input.ticket}}, which is about {{sort.Kind}}')]),
 *   ],
 *   output: '{{reply.Letter}}',
 * });
 */
export function defineProgram<Input extends z.ZodType | JsonObject = JsonObject>(
  options: ProgramOptions<Input>,
): ProgramDefinition<JsonValue, InputFor<Input>, GivenInputFor<Input>> {
  const { input, units, ...rest } = options;
  const owner = typeof rest.name === 'string' ? `program "${rest.name}"` : 'a program';
  const uses = joinUses(owner, usesOf(units));
  const given = {
    version: 1,
    ...rest,
    ...(input === undefined ? {} : { input: toJsonSchema(`${owner}: input`, input) }),
    units: Array.isArray(units) ? units.map(unitDocument) : units,
  };
  const document = checkedDocument(owner, given, uses);
  return {
    kind: 'longhaul.program',
    name: document.name,
    document,
    ...(input !== undefined && isZod(input) ? { input } : {}),
    ...uses,
    toJSON: () => document,
  };
}

function checkedDocument(owner: string, given: object, { tools, agents, programs }: ProgramUses): ProgramDocument {
  const known = { tools, agents, programs: programs.map(({ document }) => document), isPartial: true };
  const { problems, document } = checkProgram(given, known);
  if (document !== undefined) return document;
  throw new UsageError(`${owner} has ${problems.length === 1 ? 'a problem' : 'problems'}:\n${problems.map(problemLine).join('\n')}`, {
    cause: { problems },
  });
}

function problemLine({ path, message }: Problem): string {
  return path === '' ? `- ${message}` : `- ${path}: ${message}`;
}
