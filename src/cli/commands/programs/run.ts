import type { StartedProgram } from '../../../client/start.ts';
import { UsageError } from '../../../core/domain/errors.ts';
import { isJsonObject, type JsonObject } from '../../../core/domain/json.ts';
import type { ProgramDocument } from '../../../core/domain/program-document.ts';
import type { CommandIo } from '../../program/command.ts';
import { sharedStartOptions, type StartingFlags } from '../../program/start-flags.ts';
import { withClient } from '../../with-client.ts';
import { wholeRunId } from '../../with-run.ts';
import { printStarted } from '../start.ts';
import { readJson, readProgramFile } from './program-file.ts';

/** The options of `longhaul run`. */
export interface RunFlags extends StartingFlags {
  /** The name of a program, or a file. */
  target: string;
  inputJson?: JsonObject;
  inputFile?: string;
  /** The name of a program of the module. */
  program?: string;
  /** The id of an earlier run. */
  resume?: string;
  /** The address of a step. */
  from?: string;
}

/** Starts the run of a program; waits and prints its output, or prints its id. */
export async function runProgram(io: CommandIo, flags: RunFlags): Promise<number> {
  const { program, name } = await programOf(io, flags);
  const input = await readInput(io, flags);
  const resume = resumeOf(flags);
  return await withClient(io, flags, async ({ client, server }) => {
    const options = {
      ...sharedStartOptions(flags),
      ...(input === undefined ? {} : { input }),
      ...(resume === undefined ? {} : { resume: { ...resume, run: await wholeRunId(io, client, { ...flags, runId: resume.run }) } }),
    };
    const { runId } = await client.startProgram(program, options);
    return await printStarted(io, flags, { client, server, handle: client.handle<unknown>(runId), of: { program: name } });
  });
}

/** Returns the program to start. Names have no dots, and a file has one, or a slash before it. */
async function programOf({ terminal }: CommandIo, { target, program: chosen, inputFile }: RunFlags): Promise<NamedProgram> {
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
  return run === undefined ? undefined : { run, ...(from === undefined ? {} : { from }) };
}

interface NamedProgram {
  program: StartedProgram;
  name: string;
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
