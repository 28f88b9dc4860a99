/**
 * `longhaul/program`: the functions that make programs, and the types of their documents. Their names are those of the kinds of
 * steps in a document.
 */
export { agent, type AgentStepOptions, program, type ProgramStepOptions, tool } from './calls.ts';
export { ask, type AskOptions } from './ask.ts';
export {
  branch,
  type BranchCase,
  type BranchOptions,
  forEach,
  type ForEachOptions,
  parallel,
  repeat,
  type RepeatOptions,
} from './blocks.ts';
export { defineProgram, type ProgramOptions } from './define-program.ts';
export { type CompiledProgramOptions, fromCompiledProgram } from './from-compiled-program.ts';
export { human, type HumanOptions } from './human.ts';
export { recall, type RecallOptions, remember, type RememberOptions } from './memory.ts';
export { sleep } from './sleep.ts';
export { unit, type UnitOptions } from './unit.ts';
export type { SchemaOption } from './output-schema.ts';
export type { AnyProgram, GivenInputOf, ProgramDefinition, ProgramInputOf, ProgramOutputOf, ProgramUses } from './program-definition.ts';
export type { AnyStep, AnyUnit, BlockOptions, CommonOptions, ProgramStep, ProgramUnit } from './program-step.ts';
export { type CheckedProgram, checkProgram } from '../../core/program/check/check-program.ts';
export { PROGRAM_SCHEMA } from '../../core/program/check/shape/program-schema.ts';
export type { KnownNames } from '../../core/program/check/values/known-names.ts';
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
