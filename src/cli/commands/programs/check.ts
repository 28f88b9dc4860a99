import { BUILT_IN_ANCHORS } from '../../../anchors/anchors.ts';
import { counted, printableLine } from '../../../core/domain/text.ts';
import { isJsonObject } from '../../../core/domain/json.ts';
import { allSteps } from '../../../core/domain/program-document.ts';
import { checkProgram, type KnownNames } from '../../../core/program/check/check-program.ts';
import type { Problem } from '../../../core/program/check/problems.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import type { Output } from '../../output.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { type AgentsModule, loadAgentsModule } from '../../serve/agents-module.ts';
import { problemsOfDefinition, type ProgramFile, readProgramFile } from './program-file.ts';

/** The options of `longhaul check`. */
export interface CheckFlags extends ServerFlags {
  file: string;
  /** The module whose names a program may use. */
  agents?: string;
}

/** The report on one program, as `--json` prints it. */
interface CheckReport {
  file: string;
  /** The name of the program; null if it has none. */
  program: string | null;
  ok: boolean;
  problems: readonly Problem[];
  warnings: readonly Problem[];
  /** The size of a program without problems. */
  units?: number;
  steps?: number;
}

/** Prints all problems of the programs of a file. The exit code says if there are any; warnings do not count. */
export async function check(io: CommandIo, { file, agents }: CheckFlags): Promise<number> {
  const { output, terminal } = io;
  const reports = await reportsOn(file, agents, terminal);
  for (const report of reports) {
    if (output.json) output.printJson(report);
    else for (const line of reportLines(report, output)) output.print(line);
  }
  if (agents === undefined && !output.json) {
    output.note(`Names of tools, agents, anchors and models are not checked: add --agents <module> to check them too.`);
  }
  return reports.every(({ ok }) => ok) ? EXIT_CODES.ok.code : EXIT_CODES.problems.code;
}

async function reportsOn(path: string, agents: string | undefined, terminal: CommandIo['terminal']): Promise<CheckReport[]> {
  let file: ProgramFile;
  try {
    file = await readProgramFile(path, terminal);
  } catch (error) {
    const problems = problemsOfDefinition(error);
    if (problems === undefined) throw error;
    return [{ file: path, program: null, ok: false, problems, warnings: [] }];
  }
  // A module of programs alone is part of a larger one: what it lacks may be there.
  const own = file.module === undefined ? {} : { ...namesOfModule(file.module), isPartial: true };
  const known: KnownNames = agents === undefined ? own : namesOfModule(await loadAgentsModule(agents));
  return file.documents.map((document) => reportOn(file.label, document, known));
}

function reportOn(file: string, given: unknown, known: KnownNames): CheckReport {
  const { problems, warnings, document } = checkProgram(given, known);
  const name = isJsonObject(given) ? given['name'] : undefined;
  const report = { file, program: typeof name === 'string' ? name : null, ok: problems.length === 0, problems, warnings };
  return document === undefined ? report : { ...report, units: document.units.length, steps: allSteps(document).length };
}

function reportLines({ file, program, problems, warnings, units = 0, steps = 0 }: CheckReport, output: Pick<Output, 'look'>): string[] {
  const name = program === null ? 'the program' : `program "${printableLine(program)}"`;
  const counts = [
    ...(problems.length === 0 ? [] : [output.look('red', counted(problems.length, 'problem'))]),
    ...(warnings.length === 0 ? [] : [output.look('yellow', counted(warnings.length, 'warning'))]),
  ];
  const size = `${counted(units, 'unit')}, ${counted(steps, 'step')}`;
  const head = problems.length > 0 ? counts.join(' and ') : [output.look('green', 'no problems'), ...counts].join(', ');
  return [
    `${printableLine(file)}: ${name} has ${head}${problems.length > 0 ? '' : ` (${size})`}`,
    ...problems.map((problem) => `  ${problemLine(problem, output)}`),
    ...warnings.map((warning) => `  ${output.look('yellow', 'warning')} ${problemLine(warning, output)}`),
  ];
}

function problemLine({ path, message }: Problem, output: Pick<Output, 'look'>): string {
  return path === '' ? printableLine(message) : `${output.look('bold', printableLine(path))}: ${printableLine(message)}`;
}

/** The provider that a worker has if its module exports none. */
const DEFAULT_PROVIDERS = ['openai'];

/** Returns the names that a worker with this module has. */
export function namesOfModule({ agents, programs, tools, anchors, providers, memory }: AgentsModule): KnownNames {
  return {
    tools: [...new Set([...tools, ...programs.flatMap((one) => one.tools)])],
    agents: [...new Set([...agents, ...programs.flatMap((one) => one.agents)])],
    programs: [...programs, ...programs.flatMap((one) => one.programs)].map((one) => one.toJSON()),
    anchors: [...BUILT_IN_ANCHORS, ...anchors],
    providers: providers === undefined ? DEFAULT_PROVIDERS : Object.keys(providers),
    hasMemory: memory !== undefined,
  };
}
