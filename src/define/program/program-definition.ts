import type { z } from 'zod';
import type { JsonValue } from '../../core/domain/json.ts';
import type { ProgramDocument } from '../../core/domain/program-document.ts';
import type { AnyAgent } from '../agent-definition.ts';
import type { AnyTool } from '../tools/tool-definition.ts';

/**
 * A program as `defineProgram` returns it: its document, and the definitions that its steps were given. Its type carries the types of
 * its output and of its input, as a start takes it (`GivenInput`) and as its schema parses it (`Input`).
 */
export interface ProgramDefinition<Output = JsonValue, Input = never, GivenInput = Input> extends ProgramUses {
  readonly kind: 'longhaul.program';
  readonly name: string;
  /** The document, checked. */
  readonly document: ProgramDocument;
  /** The zod schema of the input, if the program was given one. */
  readonly input?: z.ZodType;
  /** Returns the document. */
  toJSON(): ProgramDocument;
  readonly [OUTPUT]?: Output;
  readonly [INPUT]?: (input: Input) => void;
  readonly [GIVEN_INPUT]?: (input: GivenInput) => void;
}

/** Keys that are never present at run time: they carry the types. */
declare const OUTPUT: unique symbol;
declare const INPUT: unique symbol;
declare const GIVEN_INPUT: unique symbol;

/** The definitions that steps were given, also those inside of other programs. A worker with the program has them all. */
export interface ProgramUses {
  readonly tools: readonly AnyTool[];
  readonly agents: readonly AnyAgent[];
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
