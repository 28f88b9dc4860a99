import { BUILT_IN_ANCHORS } from '../../anchors/anchors.ts';
import type { StartedProgram } from '../../client/start-workflow.ts';
import { defined, isJsonObject, type JsonObject } from '../../core/domain/json.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { allSteps, type ProgramDocument } from '../../core/domain/program-document.ts';
import { counted, printableLine } from '../../core/domain/text.ts';
import type { KnownNames } from '../../core/program/check/check-known.ts';
import { checkProgram } from '../../core/program/check/check-program.ts';
import type { Problem } from '../../core/program/check/problems.ts';
import { wholeRunId, withClient, withRun } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { type AgentsModule, loadAgentsModule, problemsOfDefinition, type ProgramFile, readJson, readProgramFile } from '../input-files.ts';
import { sharedStartOptions } from '../options.ts';
import type { Output } from '../output.ts';
import { traceLines } from '../render/tree-lines.ts';
import { printStartedRun } from './start.ts';
import type { CHECK, RunFlags, TRACE } from '../run-commands.ts';

/** Starts the run of a program; waits and prints its output, or prints its id. */
export async function runProgram(io: CommandIo, flags: RunFlags): Promise<number> {
  const { program, name } = await programOf(io, flags);
  const input = await readInput(io, flags);
  const resume = resumeOf(flags);
  return await withClient(io, flags, async ({ client, server }) => {
    const options = {
      ...sharedStartOptions(flags),
      ...defined({ input }),
      ...(resume === undefined ? {} : { resume: { ...resume, run: await wholeRunId(io, client, { ...flags, runId: resume.run }) } }),
    };
    const { runId } = await client.startProgram(program, options);
    return await printStartedRun(io, flags, { client, server, handle: client.handle<unknown>(runId), of: { program: name } });
  });
}

/** Returns the program to start. Names have no dots, and a file has one, or a slash before it. */
async function programOf(
  { terminal }: CommandIo,
  { target, program: chosen, inputFile }: RunFlags,
): Promise<{ program: StartedProgram; name: string }> {
  if (!/[./\\]/.test(target) && target !== '-') {
    if (chosen === undefined) return { program: target, name: target };
    throw new UsageError(`--program chooses among the programs of a module, and "${target}" is the name of a program: leave it out`);
  }
  if (target === '-' && inputFile === '-')
    throw new UsageError('Both the program and the input are to be read from stdin: name a file for one');
  const { documents } = await readProgramFile(target, terminal);
  const named = documents.map((document) => ({ program: document as ProgramDocument, name: nameOf(document) }));
  const candidates = chosen === undefined ? named : named.filter(({ name }) => name === chosen);
  const [only] = candidates;
  if (candidates.length === 1 && only !== undefined) return only;
  const names = named.map(({ name }) => `"${name}"`).join(', ');
  if (chosen !== undefined) throw new UsageError(`"${target}" has no program "${chosen}" (it has: ${names})`);
  throw new UsageError(`"${target}" has several programs (${names}): choose one with --program <name>`);
}

function resumeOf({ resume: run, from }: RunFlags): { run: string; from?: string } | undefined {
  if (run === undefined && from !== undefined) throw new UsageError('--from is a step of an earlier run: add --resume <run>');
  return run === undefined ? undefined : { run, ...defined({ from }) };
}

/** Returns the name of a document that may be anything: the client checks it. */
function nameOf(document: unknown): string {
  const name = isJsonObject(document) ? document['name'] : undefined;
  return typeof name === 'string' ? name : '';
}

async function readInput({ terminal }: CommandIo, { inputJson, inputFile }: RunFlags): Promise<JsonObject | undefined> {
  if (inputFile === undefined) return inputJson;
  if (inputJson !== undefined) throw new UsageError('There are two inputs: give --input-json or --input-file, not both');
  const input = await readJson(inputFile, 'input', terminal);
  if (isJsonObject(input)) return input;
  throw new UsageError(`The input in "${inputFile}" is not a JSON object`);
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

/** Prints all problems of the programs in a file. The exit code says whether there are any; warnings do not count. */
export async function check(io: CommandIo, { file, agents }: FlagsOf<typeof CHECK>): Promise<number> {
  const { output, terminal } = io;
  const reports = await reportsOn(file, agents, terminal);
  for (const report of reports) output.result(report, reportLines(report, output));
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
  // A module with only programs is part of a larger one, which may have what it lacks.
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

function namesOfModule({ agents, programs, tools, anchors, providers, memory }: AgentsModule): KnownNames {
  return {
    tools: [...new Set([...tools, ...programs.flatMap((one) => one.tools)])],
    agents: [...new Set([...agents, ...programs.flatMap((one) => one.agents)])],
    programs: [...programs, ...programs.flatMap((one) => one.programs)].map((one) => one.toJSON()),
    anchors: [...BUILT_IN_ANCHORS, ...anchors],
    providers: providers === undefined ? DEFAULT_PROVIDERS : Object.keys(providers),
    hasMemory: memory !== undefined,
  };
}

/** Prints the trace of a run, during the run or after its end. */
export async function trace(io: CommandIo, flags: FlagsOf<typeof TRACE>): Promise<number> {
  if (flags.calls && !flags.export) throw new UsageError('--calls is for --export');
  if (flags.export) {
    const traces = await withRun(io, flags, ({ client, runId }) => client.handle(runId).exportTrace({ calls: flags.calls === true }));
    io.output.printJson(traces);
    return 0;
  }
  const found = await withRun(io, flags, ({ client, runId }) => client.handle(runId).trace());
  return io.output.result(found.toJSON(), traceLines(found, io.output));
}
