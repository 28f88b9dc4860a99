import { errorMessage } from '../../core/domain/errors/error.ts';
import { NEEDED_NODE } from '../../node-version.ts';
import { importedKindProblem } from './module-kind.ts';

const TYPESCRIPT = ['.ts', '.mts', '.cts', '.tsx'];

/** The line that says why a module could not be loaded, and what to do where that is known. */
export function importProblem(path: string, extension: string, error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  const said = errorMessage(error).split('\n').slice(0, 3).join(' ').trim();
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && TYPESCRIPT.includes(extension)) return noTypeScript(path, extension);
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    return (
      `The agents module "${path}" cannot be loaded: ${said}${place(error)}. Node only strips types: ` +
      'write it without enums, namespaces and parameter properties, or compile it to JavaScript'
    );
  }
  return importedKindProblem(path, error, failedFile(error)) ?? `The agents module "${path}" cannot be loaded: ${said}${place(error)}`;
}

function noTypeScript(path: string, extension: string): string {
  if (extension === '.tsx')
    return `The agents module "${path}" is a ".tsx" file, which Node cannot load: name it ".ts", or compile it to JavaScript`;
  return (
    `The agents module "${path}" is TypeScript, which this Node (${process.version}) does not load: ` +
    `use ${NEEDED_NODE}, without --no-experimental-strip-types, or compile it to JavaScript`
  );
}

/** The file that a SyntaxError is about: the first line of its stack, before the message. */
function failedFile(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  return /^(?:file:\/\/)?(\/[^\n]+):\d+\n/.exec(stack)?.[1];
}

/** Where in the user's own code it happened: the message alone seldom says. */
function place(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const places = [...stack.matchAll(/(?:file:\/\/)?(\/[^():\n]+):(\d+)/g)].map(([, file = '', line = '']) => `${decodeURI(file)}:${line}`);
  const own = places.find((one) => !/\/node_modules\/|\/cli\/agents-module\./.test(one));
  return own === undefined ? '' : ` (at ${own})`;
}
