import { runProcess } from './run-process.ts';
import { allStartFlags, cliEnvironment } from './start-flags.ts';

const PROBE_MS = 15_000;
const OLDEST_SERVER = [1, 29] as const;

/** The environment and signal for probing a CLI. */
export interface ProbeContext {
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
}

/**
 * Returns the version of the server in a Temporal CLI. Throws an error with the reason as its message if the file is
 * not a Temporal CLI, its server is older than 1.29, or it does not accept the flags that servers are started with
 * here.
 */
export async function probeCli(cliPath: string, context: ProbeContext): Promise<string> {
  const answered = await ask(cliPath, ['--version'], context);
  if (answered.code !== 0) throw new Error(`"${cliPath}" does not run: ${firstLine(answered.output)}`);
  const version = /server\s+v?(\d+)\.(\d+)(?:\.\d+)?/i.exec(answered.output);
  if (version === null) throw new Error(`"${cliPath}" does not say which server it contains: ${firstLine(answered.output)}`);
  const number = version[0].replace(/^\D+/, '');
  if (isOlder(Number(version[1]), Number(version[2]))) {
    throw new Error(`"${cliPath}" contains server ${number}, which is older than ${OLDEST_SERVER.join('.')}`);
  }
  // With --help the CLI still parses every flag before it, and starts nothing.
  const flags = await ask(cliPath, [...allStartFlags(), '--help'], context);
  if (flags.code !== 0) throw new Error(`"${cliPath}" cannot take the flags it is started with: ${flagComplaint(flags.output)}`);
  return number;
}

async function ask(cliPath: string, args: readonly string[], context: ProbeContext): Promise<{ code: number | null; output: string }> {
  try {
    return await runProcess({ file: cliPath, args, env: cliEnvironment(context.env) }, { signal: context.signal, timeoutMs: PROBE_MS });
  } catch (error) {
    context.signal?.throwIfAborted();
    throw new Error(`"${cliPath} ${args.slice(0, 2).join(' ')}" did not answer within ${PROBE_MS / 1000} s`, { cause: error });
  }
}

function isOlder(major: number, minor: number): boolean {
  return major < OLDEST_SERVER[0] || (major === OLDEST_SERVER[0] && minor < OLDEST_SERVER[1]);
}

function flagComplaint(output: string): string {
  return /unknown (?:shorthand )?flag[^\n]*/.exec(output)?.[0] ?? firstLine(output);
}

function firstLine(output: string): string {
  return output.trim().split('\n', 1)[0]?.slice(0, 200) || 'it printed nothing';
}
