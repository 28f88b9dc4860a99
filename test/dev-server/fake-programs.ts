import { existsSync } from 'node:fs';
import { access, chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { portOf } from '../../src/dev-server/start-flags.ts';

/** The environment of one test: a folder that is the whole PATH, and a cache. */
export interface Sandbox {
  directory: string;
  bin: string;
  cache: string;
  env: NodeJS.ProcessEnv;
  /** Writes a shell script into the folder that is the PATH. */
  program: (name: string, body: string) => Promise<string>;
}

/** Makes a sandbox that is removed after the test. In it, the SDK's download fails at once, without network. */
export async function sandbox(): Promise<Sandbox> {
  const directory = await mkdtemp(join(tmpdir(), 'longhaul-dev-server-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const bin = join(directory, 'bin');
  const cache = join(directory, 'cache');
  await mkdir(bin);
  const env = { PATH: bin, LONGHAUL_CACHE: cache, HTTPS_PROXY: 'http://127.0.0.1:1', TMPDIR: directory };
  return { directory, bin, cache, env, program: (name, body) => writeProgram(join(bin, name), body) };
}

/** Writes an executable shell script. */
export async function writeProgram(path: string, body: string): Promise<string> {
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
  return path;
}

/** A CLI that passes every check and executes `start` if it has to start a server. */
export function fakeCli(options: { version?: string; start?: string } = {}): string {
  return `
if [ "$1" = --version ]; then echo "temporal version 1.5.1 (Server ${options.version ?? '1.29.1'}, UI 2.42.1)"; exit 0; fi
for flag in "$@"; do [ "$flag" = --help ] && exit 0; done
${options.start ?? '/bin/sleep 600'}`;
}

/** A CLI of the right version without --sqlite-pragma. */
export const CLI_WITHOUT_PRAGMA = `
if [ "$1" = --version ]; then echo "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)"; exit 0; fi
case "$*" in *--sqlite-pragma*) echo "Error: unknown flag: --sqlite-pragma" >&2; exit 1;; esac`;

/** A `go` that installs the given script as the CLI. */
export function fakeGo(cli: string): string {
  return `
echo "go: downloading example.com/module v1.0.0" >&2
/bin/cat > "$GOBIN/temporal" <<'END_OF_CLI'
#!/bin/sh
${cli}
END_OF_CLI
/bin/chmod 755 "$GOBIN/temporal"`;
}

/** Shell commands that write pids into the sandbox, for `notedPids`; by default the script's own. */
export function notePids(place: Sandbox, pids = '$$'): string {
  const file = join(place.directory, 'pids');
  return `echo "${pids}" > ${file}.new; /bin/mv ${file}.new ${file}`;
}

/** Waits for the pids that a script writes. */
export async function notedPids(place: Sandbox): Promise<number[]> {
  const file = join(place.directory, 'pids');
  await vi.waitFor(() => access(file), { timeout: 20_000, interval: 20 });
  return (await readFile(file, 'utf8')).trim().split(' ').map(Number);
}

/** True while a process runs. A zombie does not run. */
export async function isRunning(pid: number): Promise<boolean> {
  if (existsSync('/proc/self/stat')) return /\) [^ZX]/.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''));
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A listener that accepts connections and never answers, until the test is over. */
export async function silentServer(): Promise<{ server: Server; address: string; port: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return { server, address: `127.0.0.1:${portOf(server)}`, port: portOf(server) };
}
