import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

/** A statement at the beginning of a line that only an ES module has. */
const ES_MODULE = /^(?:import\s*[\w{*'"]|export\s*[{*]|export\s+(?:const|let|var|default|async|function|class|type|interface)\b)/m;

/** The ways in which a CommonJS module exports: without them it exports nothing. */
const COMMON_JS = /\b(?:module\.exports|exports\.\w+|require\()/;

/** Node's errors for an ES module that it loads as CommonJS. */
const TAKEN_FOR_COMMON_JS = /^(?:Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import\.meta' outside)/;

/**
 * Returns advice for an ES module in a package that `package.json` declares as CommonJS, as `npm init -y` does;
 * otherwise undefined. Called before Node loads the module, because Node prints a warning of its own.
 */
export async function moduleKindProblem(path: string, file: string): Promise<string | undefined> {
  if (!['.ts', '.js'].includes(extname(file))) return undefined;
  const manifest = await nearestManifest(dirname(file));
  if (manifest?.type !== 'commonjs') return undefined;
  const code = await readFile(file, 'utf8');
  return ES_MODULE.test(code) && !COMMON_JS.test(code) ? advice(path, path, manifest.path) : undefined;
}

/** Returns the same advice for a module that the one at `path` imports and that failed to load. `at` is its file. */
export function importedKindProblem(path: string, error: unknown, at: string | undefined): string | undefined {
  if (!(error instanceof SyntaxError) || !TAKEN_FOR_COMMON_JS.test(error.message)) return undefined;
  return advice(path, at ?? path, 'package.json');
}

function advice(path: string, file: string, manifest: string): string {
  const named = basename(file).replace(/\.(ts|js)$/, '.m$1');
  return (
    `The agents module "${path}" cannot be loaded: "${file}" is an ES module, but "${manifest}" has "type": "commonjs", as "npm init -y" ` +
    `writes it: run npm pkg set type=module beside it, or name the file "${named}"`
  );
}

async function nearestManifest(folder: string): Promise<{ path: string; type: unknown } | undefined> {
  const path = join(folder, 'package.json');
  const found: unknown = await readFile(path, 'utf8').then(
    (text) => JSON.parse(text) as unknown,
    () => undefined,
  );
  if (typeof found === 'object' && found !== null) return { path, type: 'type' in found ? found.type : undefined };
  const above = dirname(folder);
  return above === folder ? undefined : nearestManifest(above);
}
