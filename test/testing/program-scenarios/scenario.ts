import { outputText } from '../../../src/core/domain/content.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import type { ModelRequest } from '../../../src/core/domain/model.ts';
import type { UnitResult } from '../../../src/core/domain/program-run.ts';
import type { TerminalStatus } from '../../../src/core/domain/run.ts';
import { type AnyProgram, defineProgram, type ProgramDefinition, type ProgramOptions, unit } from '../../../src/define/program/index.ts';
import type { AnyStep } from '../../../src/define/program/define-program.ts';
import type { UnitOptions } from '../../../src/define/program/steps.ts';
import { type ProgramTestOptions, type ScriptEntry, scriptedModel, type TestedProgram } from '../../../src/testing/index.ts';

/** The course of a program as plain data, which is the same in memory and on a server. */
export interface ProgramCourse {
  status: TerminalStatus;
  /** Default: not compared. */
  output?: JsonValue;
  /** Texts that the run's error contains. */
  error?: readonly string[];
  stopReason?: string;
  /** `unit: status`, and the steps of units as `unit.step: status`, with attempts from the second one on. Those that are named must be so. */
  steps?: Readonly<Record<string, string>>;
  /** The prompts, in their order; sorted if steps run in parallel. */
  prompts?: readonly string[];
  /** Texts that each appear in the prompts. */
  prompted?: readonly string[];
}

/** One run of a program. */
export interface ProgramScenario {
  /** A sentence of behavior. */
  name: string;
  program: AnyProgram;
  /** Called for each run: no state of one run gets into another. */
  options: () => ProgramTestOptions<never>;
  course: ProgramCourse;
}

/** The options of a scenario, and its course. */
export interface ProgramScenarioParts extends Omit<Partial<ProgramTestOptions>, 'model' | 'input'> {
  script: readonly ScriptEntry[];
  /** The last entry of the script answers every further call. */
  repeatLast?: boolean;
  input?: Record<string, JsonValue>;
  course: ProgramCourse;
}

/** Makes a scenario. */
export function programScenario(
  name: string,
  program: AnyProgram,
  { script, repeatLast = false, course, ...options }: ProgramScenarioParts,
): ProgramScenario {
  return {
    name,
    program,
    options: () => {
      const given: ProgramTestOptions<ProgramDefinition<unknown, never, Record<string, JsonValue>>> = {
        ...options,
        model: scriptedModel(script, { repeatLast }),
      };
      return given;
    },
    course,
  };
}

/** Makes a program of one unit `u`. */
export function one(
  steps: readonly AnyStep[],
  { unit: ofUnit = {}, ...options }: Partial<ProgramOptions<never>> & { unit?: UnitOptions } = {},
): AnyProgram {
  return several([unit('u', ofUnit, steps)], options);
}

/** Makes a program of several units. */
export function several(units: ProgramOptions<never>['units'], options: Partial<ProgramOptions<never>> = {}): AnyProgram {
  return defineProgram({ name: 'program', model: 'scripted/model', units, ...options });
}

/** Returns the course of a run in the terms of an expected one: only what that one says. */
export function courseOf({ result, requests }: TestedProgram<unknown>, expected: ProgramCourse): ProgramCourse {
  const prompts = requests.map(promptOf);
  const inOrder = expected.prompts === undefined || prompts.every((prompt, index) => prompt === expected.prompts?.[index]);
  const all = statuses(result.units);
  return {
    status: result.status,
    ...(expected.output === undefined ? {} : { output: result.output as JsonValue }),
    ...(expected.error === undefined ? {} : { error: expected.error.filter((text) => result.error?.includes(text)) }),
    ...(expected.stopReason === undefined ? {} : { stopReason: result.stopReason }),
    ...(expected.steps === undefined
      ? {}
      : { steps: Object.fromEntries(Object.keys(expected.steps).map((at) => [at, all.get(at) ?? 'none'])) }),
    ...(expected.prompts === undefined ? {} : { prompts: inOrder ? prompts : prompts.toSorted() }),
    ...(expected.prompted === undefined
      ? {}
      : { prompted: expected.prompted.filter((text) => prompts.some((prompt) => prompt.includes(text))) }),
  };
}

function statuses(units: readonly UnitResult[]): Map<string, string> {
  const all = new Map<string, string>();
  for (const { name, status, reason, steps } of units) {
    all.set(name, reason === undefined ? status : `${status}: ${reason}`);
    for (const step of steps) {
      const attempts = step.attempts > 1 ? ` after ${step.attempts}` : '';
      all.set(`${name}.${step.name}`, `${step.status}${attempts}${step.reason === undefined ? '' : `: ${step.reason}`}`);
    }
  }
  return all;
}

/** Returns the text that the model was sent last. */
function promptOf({ conversation }: ModelRequest): string {
  const items = conversation.flatMap(({ content }) => content);
  return items.flatMap((item) => (item.type === 'message' ? [outputText(item.content)] : [])).join('\n');
}
