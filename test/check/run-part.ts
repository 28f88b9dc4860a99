import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';

/** One thing to check, by a program of node_modules. */
export interface Part {
  name: string;
  command: readonly [string, ...string[]];
}

/** The result of a part. */
export interface PartResult {
  name: string;
  passed: boolean;
  seconds: number;
  /** The whole output of the program. */
  output: string;
}

/** A warning of Node about deprecated and experimental features and leaked listeners. All other problems give an exit code. */
const NODE_WARNING = /\(node:\d+\) .*Warning/;

/** Runs a part in a project. It passes if the program exits with 0 and Node printed no warning. */
export function runPart({ name, command: [program, ...args] }: Part, root: string): Promise<PartResult> {
  const start = performance.now();
  const path = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);
  const child = spawn(program, args, { cwd: root, env: { ...process.env, PATH: path }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  return new Promise((resolve) => {
    const finish = (passed: boolean, problem = ''): void =>
      resolve({
        name,
        passed: passed && !NODE_WARNING.test(output),
        seconds: (performance.now() - start) / 1000,
        output: output + problem,
      });
    child.on('error', (error) => finish(false, `"${program}" cannot be run (${error.message}): run "npm ci" first\n`));
    child.on('close', (code, signal) => finish(code === 0, signal === null ? '' : `"${program}" was ended by ${signal}\n`));
  });
}

/** Runs this many parts at a time, and reports each as it ends. Resolves with the results in the order of the parts. */
export async function runParts(
  parts: readonly Part[],
  root: string,
  lanes: number,
  ended: (result: PartResult) => void,
): Promise<PartResult[]> {
  const results: PartResult[] = [];
  const queue = parts.entries();
  async function lane(): Promise<void> {
    for (const [index, part] of queue) {
      const result = await runPart(part, root);
      results[index] = result;
      ended(result);
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
