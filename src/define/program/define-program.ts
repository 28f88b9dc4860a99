import type { z } from 'zod';
import { UsageError } from '../../core/domain/errors.ts';
import type { JsonObject, JsonValue } from '../../core/domain/json.ts';
import type { LimitOptions } from '../../core/domain/limits.ts';
import type { ProgramDocument, StepDocument, StepKind, StepKinds, StepOptions, UnitDocument } from '../../core/domain/program-document.ts';
import type { QuietHoursOptions } from '../../core/domain/quiet-hours.ts';
import { checkProgram } from '../../core/program/check/check-program.ts';
import type { Problem } from '../../core/program/check/problems.ts';
import { jsonSchemaOf } from '../../schema/zod-schemas.ts';
import { joinUses, NO_USES, type ProgramDefinition, type ProgramUses } from './program-definition.ts';

/** The options of `defineProgram`. */
export interface ProgramOptions<Input extends z.ZodType | JsonObject> {
  /** Names the program for clients and the Temporal UI. */
  name: string;
  /** The model of every `ask` that names none: `provider/model`. */
  model?: string;
  /** The schema of the input, an object. Default: any object. */
  input?: Input;
  /** The units. They run in this order, unless `needs` of a unit says otherwise. */
  units: readonly AnyUnit[];
  /** The output, with references to the steps of units. Default: the output of the last step of the last unit. */
  output?: JsonValue;
  /** The limits of a run. `steps` counts model calls. */
  limits?: LimitOptions;
  /** `ask`: at a limit, the run waits for a person to raise it. Default `stop`: the run ends. */
  onLimit?: 'stop' | 'ask';
  /** The hours in which calls of tools of the category `communicate` wait, in its steps and their child runs. Default: none. */
  quietHours?: QuietHoursOptions;
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

/** A step as the functions of `longhaul/program` return it. */
export interface ProgramStep {
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.step';
  /** The step as a document. */
  readonly document: StepDocument;
  /** The definitions used by it and by the steps inside it. */
  readonly uses: readonly ProgramUses[];
}

/** A unit as `unit` returns it. */
export interface ProgramUnit {
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.unit';
  /** The unit as a document. */
  readonly document: UnitDocument;
  /** The tools, agents and programs of its steps. */
  readonly uses: readonly ProgramUses[];
}

/** A step, or the part of a document that describes one. */
export type AnyStep = ProgramStep | StepDocument;

/** A unit, or the part of a document that describes one. */
export type AnyUnit = ProgramUnit | UnitDocument;

/** The options of a step that do not depend on its kind. */
export type CommonOptions = Omit<StepOptions, 'name'>;

/** The options of a step that holds other steps. */
export type BlockOptions = Pick<CommonOptions, 'when'>;

const COMMON: Record<keyof CommonOptions, true> = { when: true, refine: true, timeout: true, approval: true, review: true };

/** Splits the options of a step into common and kind-specific ones. */
export function splitOptions(options: object): { common: CommonOptions; own: JsonObject } {
  const entries = Object.entries(options);
  return {
    common: Object.fromEntries(entries.filter(([key]) => Object.hasOwn(COMMON, key))),
    own: Object.fromEntries(entries.filter(([key]) => !Object.hasOwn(COMMON, key))),
  };
}

/** Makes a step of a kind. The document is checked as a whole by `defineProgram`. */
export function makeStep<Kind extends StepKind>(
  name: string,
  { kind, body, common, uses = [] }: { kind: Kind; body: StepKinds[Kind]; common: CommonOptions; uses?: readonly ProgramUses[] },
): ProgramStep {
  return { kind: 'longhaul.step', document: { name, [kind]: body, ...common } as StepDocument, uses };
}

function stepDocument(step: AnyStep): StepDocument {
  return isMade(step, 'longhaul.step') ? step.document : step;
}

/** Returns the documents of steps. A value that is not a list is left unchanged, for the check of the program to report. */
export function stepDocuments(steps: readonly AnyStep[]): StepDocument[] {
  return Array.isArray(steps) ? steps.map(stepDocument) : (steps as StepDocument[]);
}

function unitDocument(unit: AnyUnit): UnitDocument {
  return isMade(unit, 'longhaul.unit') ? unit.document : unit;
}

/** Lists what steps or units use. */
export function usesOf(parts: readonly (AnyStep | AnyUnit)[]): ProgramUses[] {
  if (!Array.isArray(parts)) return [NO_USES];
  return parts.flatMap((part: AnyStep | AnyUnit) => (isMade(part, 'longhaul.step') || isMade(part, 'longhaul.unit') ? part.uses : []));
}

function isMade<Kind extends string>(part: object, kind: Kind): part is Extract<ProgramStep | ProgramUnit, { kind: Kind }> {
  return typeof part === 'object' && part !== null && 'kind' in part && part.kind === kind;
}

/** A zod schema, or a JSON Schema. */
export type SchemaOption = z.ZodType | JsonObject;

/** Returns the JSON Schema of the option. Throws a UsageError that begins with `owner` for a zod schema that JSON cannot represent. */
export function toJsonSchema(owner: string, schema: SchemaOption): JsonObject {
  return isZod(schema) ? jsonSchemaOf(schema, owner) : schema;
}

/** True for a schema of zod 4. */
function isZod(schema: SchemaOption): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema;
}
