/**
 * `longhaul/program`: the functions that make programs, and the types of their documents. Each function is named after the kind of
 * step that it makes.
 *
 * @packageDocumentation
 */
export { agent, type AgentStepOptions, program, type ProgramStepOptions, tool } from './steps.ts';
export { ask, type AskOptions } from './steps.ts';
export {
  branch,
  type BranchCase,
  type BranchOptions,
  forEach,
  type ForEachOptions,
  parallel,
  repeat,
  type RepeatOptions,
} from './steps.ts';
export { defineProgram, type ProgramOptions } from './define-program.ts';
export { type CompiledProgramOptions, fromCompiledProgram } from './from-compiled-program.ts';
export { human, type HumanOptions } from './steps.ts';
export { recall, type RecallOptions, remember, type RememberOptions } from './steps.ts';
export { sleep } from './steps.ts';
export { unit, type UnitOptions } from './steps.ts';
export type { SchemaOption } from './define-program.ts';
export type { AnyProgram, GivenInputOf, ProgramDefinition, ProgramInputOf, ProgramOutputOf, ProgramUses } from './program-definition.ts';
export type { AnyStep, AnyUnit, BlockOptions, CommonOptions, ProgramStep, ProgramUnit } from './define-program.ts';
export { type CheckedProgram, checkProgram } from '../../core/program/check/check-program.ts';
export { PROGRAM_SCHEMA } from '../../core/program/check/program-schema.ts';
export type { KnownNames } from '../../core/program/check/check-known.ts';
export type { Problem } from '../../core/program/check/problems.ts';
export type {
  AgentStepDocument,
  AskDocument,
  BranchDocument,
  ConditionDocument,
  ForEachDocument,
  HumanDocument,
  ParallelDocument,
  ProgramDocument,
  ProgramStepDocument,
  RecallDocument,
  RefineDocument,
  RememberDocument,
  RepeatDocument,
  SleepDocument,
  StepDeadlineDocument,
  StepDocument,
  StepKind,
  StepKinds,
  StepOptions,
  ToolStepDocument,
  UnitDocument,
} from '../../core/domain/program-document.ts';
