import { errorMessage } from '../../core/domain/errors/error.ts';
import { NEEDED_NODE } from '../../node-version/node-version.ts';
import { importedKindProblem } from './module-kind.ts';

const TYPESCRIPT = ['.ts', '.mts', '.cts', '.tsx'];

/** Returns the line that explains why a module could not be loaded and, if known, how to fix it. */
export function importProblem(path: string, extension: string, error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  const message = messageOf(error);
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && TYPESCRIPT.includes(extension)) return noTypeScript(path, extension);
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    return (
      `The agents module "${path}" cannot be loaded: ${message}${locationText(error)}. Node only strips types: ` +
      'write it without enums, namespaces and parameter properties, or compile it to JavaScript'
    );
  }
  return (
    importedKindProblem(path, error, failedFile(error)) ?? `The agents module "${path}" cannot be loaded: ${message}${locationText(error)}`
  );
}

/** Returns the message of an error. A definition lists all its problems; the other lines of a parser's message say nothing more. */
function messageOf(error: unknown): string {
  const message = errorMessage(error);
  return error instanceof Error && error.name === 'UsageError' ? message : message.split('\n').slice(0, 3).join(' ').trim();
}

function noTypeScript(path: string, extension: string): string {
  if (extension === '.tsx')
    return `The agents module "${path}" is a ".tsx" file, which Node cannot load: name it ".ts", or compile it to JavaScript`;
  return (
    `The agents module "${path}" is TypeScript, which this Node (${process.version}) does not load: ` +
    `use ${NEEDED_NODE}, without --no-experimental-strip-types, or compile it to JavaScript`
  );
}

/** Returns the file that a SyntaxError is about: the first line of its stack, before the message. */
function failedFile(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  return /^(?:file:\/\/)?(\/[^\n]+):\d+\n/.exec(stack)?.[1];
}

/** Returns the location of an error in the user's own code, which the message alone seldom tells. */
function locationText(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const locations = [...stack.matchAll(/(?:file:\/\/)?(\/[^():\n]+):(\d+)/g)].map(
    ([, file = '', line = '']) => `${decodeURI(file)}:${line}`,
  );
  const own = locations.find((one) => !/\/node_modules\/|\/cli\/agents-module\./.test(one));
  return own === undefined ? '' : ` (at ${own})`;
}
