import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const TSC = join(ROOT, 'node_modules/.bin/tsc');

const OPTIONS = { module: 'nodenext', target: 'es2024', strict: true, skipLibCheck: true, noEmit: true, types: [] };

/** Compiles files as a user's against the built types, and returns what the compiler prints. */
export async function compilerOutput(files: Record<string, string>, options: Record<string, unknown> = {}): Promise<string> {
  const name = Object.keys(files)[0] ?? '';
  const folder = join(ROOT, '.cache', `compiled-${process.pid}-${name}`);
  await mkdir(folder, { recursive: true });
  try {
    await Promise.all(Object.entries(files).map(([file, code]) => writeFile(join(folder, file), code)));
    const config = { compilerOptions: { ...OPTIONS, ...options }, include: ['*.ts'] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    return await new Promise<string>((resolve, reject) => {
      execFile(TSC, ['-p', '.', '--pretty', 'false'], { cwd: folder, maxBuffer: 16_000_000 }, (error, stdout) => {
        if (error !== null && stdout === '') reject(error);
        else resolve(stdout);
      });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
