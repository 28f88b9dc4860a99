import { lstat, readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startProcess, type GuardedProcess } from './guarded-process.ts';
import { reportProgress } from './progress.ts';

const PARTIAL = '.downloading';
const POLL_MS = 100;
const GRACE_MS = 500;
// If the download host is blocked without an answer, the SDK would wait for minutes.
const FIRST_BYTE_MS = 5_000;
const STALL_MS = 20_000;

/** The environment, progress output and signal for providing a CLI. */
export interface ProvisionContext {
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Returns the CLI that the SDK has downloaded for itself earlier into the temporary directory, or undefined. Only a
 * file of this user counts: any user may write there.
 */
export async function earlierSdkDownload(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const directory = env['TMPDIR'] || tmpdir();
  for (const name of await readdir(directory).catch(() => [])) {
    if (!name.startsWith('temporal-sdk-typescript-') || name.endsWith(PARTIAL)) continue;
    const path = join(directory, name);
    const file = await lstat(path).catch(() => undefined);
    if (file?.isFile() && (process.getuid === undefined || file.uid === process.getuid())) return path;
  }
  return undefined;
}

/**
 * Lets the Temporal SDK download its CLI into a directory, and returns the path of the executable. Throws within
 * seconds if the host does not answer, and the signal's reason on abort. `downloader` is the program that downloads,
 * with the directory as its last argument: it writes a file that ends in `.downloading`, then renames it.
 */
export async function downloadWithSdk(directory: string, context: ProvisionContext, downloader = sdkDownloader()): Promise<string> {
  const [file, ...args] = downloader;
  const running = startProcess({ file, args: [...args, directory], env: context.env, unfinished: directory });
  let bytes = 0;
  const progress = reportProgress(context.say, (seconds) =>
    bytes === 0
      ? `waiting for the download host, ${seconds} s`
      : `downloading the Temporal CLI: ${Math.round(bytes / 1e6)} MB, ${seconds} s`,
  );
  try {
    return await watchDownload(directory, running, context.signal, (size) => (bytes = size));
  } finally {
    progress.stop();
    await running.stop(GRACE_MS);
  }
}

function sdkDownloader(): [string, ...string[]] {
  const script = new URL(`./sdk-download-process${extname(import.meta.url)}`, import.meta.url);
  return [process.execPath, fileURLToPath(script)];
}

async function watchDownload(
  directory: string,
  running: GuardedProcess,
  signal: AbortSignal | undefined,
  report: (bytes: number) => void,
): Promise<string> {
  let bytes = 0;
  let lastGrowth = performance.now();
  for (;;) {
    signal?.throwIfAborted();
    const over = running.hasEnded();
    const { executable, size } = await look(directory);
    if (executable !== undefined) return executable;
    if (over) throw new Error(reason(running.output()));
    if (size > bytes) lastGrowth = performance.now();
    bytes = size;
    report(bytes);
    const limit = bytes === 0 ? FIRST_BYTE_MS : STALL_MS;
    if (performance.now() - lastGrowth > limit) throw new Error(`the download host sent nothing for ${limit / 1000} s`);
    await Promise.race([delay(POLL_MS), running.ended]);
  }
}

async function look(directory: string): Promise<{ executable?: string; size: number }> {
  const names = await readdir(directory);
  const done = names.find((name) => !name.endsWith(PARTIAL));
  if (done !== undefined) return { executable: join(directory, done), size: 0 };
  const partial = names[0];
  const size =
    partial === undefined
      ? 0
      : await stat(join(directory, partial))
          .then((file) => file.size)
          .catch(() => 0);
  return { size };
}

// The SDK prints nested causes in one line, each with the whole address in brackets. The innermost one is the reason.
function reason(output: string): string {
  const message = output.trim().split('\n').at(-1) ?? '';
  return message.split('): ').at(-1)?.slice(0, 200) || 'the download ended without a file';
}
