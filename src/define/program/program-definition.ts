import type { z } from 'zod';
import { LonghaulError, UsageError } from '../../core/domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/domain/json.ts';
import type { ProgramDocument } from '../../core/domain/program-document.ts';
import { type AnyAgent, issuesText } from '../agent-definition.ts';
import type { AnyTool } from '../tool-definition.ts';

/**
 * A program as `defineProgram` returns it: its document, and the definitions that its steps use. Its type carries the types of its
 * output and of its input, as a start takes it (`GivenInput`) and as its schema parses it (`Input`).
 */
export interface ProgramDefinition<Output = JsonValue, Input = never, GivenInput = Input> extends ProgramUses {
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.program';
  /** The name that a start uses. */
  readonly name: string;
  /** The document, checked. */
  readonly document: ProgramDocument;
  /** The zod schema of the input, if the program was given one. */
  readonly input?: z.ZodType;
  /** Returns the document. */
  toJSON(): ProgramDocument;
  /** Only a type: what a run returns. @internal */
  readonly [OUTPUT]?: Output;
  /** Only a type: the input as steps see it. @internal */
  readonly [INPUT]?: (input: Input) => void;
  /** Only a type: the input as a start gives it. @internal */
  readonly [GIVEN_INPUT]?: (input: GivenInput) => void;
}

/** Keys that are never present at run time: they carry the types. */
declare const OUTPUT: unique symbol;
declare const INPUT: unique symbol;
declare const GIVEN_INPUT: unique symbol;

/** The definitions that steps use, including those inside other programs. A worker with the program has them all. */
export interface ProgramUses {
  /** Tools that steps call. */
  readonly tools: readonly AnyTool[];
  /** Agents that steps run. */
  readonly agents: readonly AnyAgent[];
  /** Programs that steps run. */
  readonly programs: readonly AnyProgram[];
}

/** A program of any types, as registries hold it. */
export type AnyProgram = ProgramDefinition<unknown, never, never>;

/** The type of a program's output. */
export type ProgramOutputOf<Program> = Program extends ProgramDefinition<infer Output, never, never> ? Output : never;

/** The type of a program's input, as its schema parses it. */
export type ProgramInputOf<Program> = Program extends ProgramDefinition<unknown, infer Input, never> ? Input : never;

/** The type of a program's input as a start takes it: fields with a default may be left out. */
export type GivenInputOf<Program> = Program extends ProgramDefinition<unknown, never, infer Given> ? Given : never;

/** The uses of a step without definitions. */
export const NO_USES: ProgramUses = { tools: [], agents: [], programs: [] };

/** Joins what several steps use. Throws a UsageError that begins with `owner` if two definitions of a kind have the same name. */
export function joinUses(owner: string, uses: readonly ProgramUses[]): ProgramUses {
  return {
    tools: byName(
      owner,
      'tools',
      uses.flatMap(({ tools }) => tools),
    ),
    agents: byName(
      owner,
      'agents',
      uses.flatMap(({ agents }) => agents),
    ),
    programs: byName(
      owner,
      'programs',
      uses.flatMap(({ programs }) => programs),
    ),
  };
}

function byName<Definition extends { name: string }>(owner: string, noun: string, definitions: readonly Definition[]): Definition[] {
  const known = new Map<string, Definition>();
  for (const definition of definitions) {
    const other = known.get(definition.name);
    if (other !== undefined && other !== definition) {
      throw new UsageError(`${owner} is given two ${noun} named "${definition.name}": give each its own name`);
    }
    known.set(definition.name, definition);
  }
  return [...known.values()];
}

/**
 * Returns the input of a program parsed by its zod schema, with defaults, as plain JSON. Throws `invalid_input` with the path of
 * each value that does not fit. Without a zod schema, the input is returned unchanged.
 */
export function parseProgramInput({ name, input: schema }: AnyProgram, input: JsonObject | undefined): JsonObject | undefined {
  if (schema === undefined) return input;
  const parsed = schema.safeParse(input ?? {});
  if (!parsed.success)
    throw new LonghaulError('invalid_input', `The input does not fit program "${name}": ${issuesText('input', parsed.error)}`);
  const plain: unknown = JSON.parse(JSON.stringify(parsed.data) ?? 'null');
  if (isJsonObject(plain)) return plain;
  throw new LonghaulError(
    'invalid_input',
    `The input does not fit program "${name}": input: its schema does not give an object of JSON values`,
  );
}
