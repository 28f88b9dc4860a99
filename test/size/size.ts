import { posix } from 'node:path';

/** The lines of a file, or of several, by what they are. Multi-line strings count as code. */
export interface Size {
  files: number;
  lines: number;
  comments: number;
  blank: number;
  /** Imports and re-exports. */
  imports: number;
}

const NONE: Size = { files: 0, lines: 0, comments: 0, blank: 0, imports: 0 };

/** The lines of all these files together. */
export function sumOf(sizes: readonly Size[]): Size {
  return sizes.reduce(
    (sum, { files, lines, comments, blank, imports }) => ({
      files: sum.files + files,
      lines: sum.lines + lines,
      comments: sum.comments + comments,
      blank: sum.blank + blank,
      imports: sum.imports + imports,
    }),
    NONE,
  );
}

/** Lines that are neither comments, nor blank, nor imports. */
export function codeOf({ lines, comments, blank, imports }: Size): number {
  return lines - comments - blank - imports;
}

/** Counts the lines of a TypeScript file as the formatter leaves it: a comment begins its line, and an import ends with a semicolon. */
export function sizeOf(text: string): Size {
  const size = { ...NONE, files: 1 };
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  let inside: 'comment' | 'import' | undefined;
  for (const [index, line] of lines.entries()) {
    const trimmed = line.trim();
    size.lines += 1;
    if (inside === undefined && trimmed.startsWith('/*')) inside = 'comment';
    if (inside === undefined && beginsImport(lines, index)) inside = 'import';
    if (inside === 'comment' || (inside === undefined && trimmed.startsWith('//'))) size.comments += 1;
    else if (inside === 'import') size.imports += 1;
    else if (trimmed === '') size.blank += 1;
    if ((inside === 'comment' && trimmed.includes('*/')) || (inside === 'import' && trimmed.endsWith(';'))) inside = undefined;
  }
  return size;
}

/** True if a statement that names another module begins in the line. An import in a Python text does not name one of this project. */
function beginsImport(lines: readonly string[], index: number): boolean {
  const line = lines[index] ?? '';
  if (!/^import\b(?!\s*[(.])/.test(line) && !/^export (?:type )?[{*]/.test(line)) return false;
  const end = lines.findIndex((one, at) => at >= index && one.endsWith(';'));
  return /^(?:import|export)(?: type)?(?: [\w\s{},*$]+ from)? '[^']+';$/.test(lines.slice(index, end + 1).join('\n'));
}

/** The room of a path: a folder under `src`, `src/core`, `activities` or `studio`, or a folder at the top. */
export function roomOf(path: string): string {
  const folders = posix.dirname(path).split('/');
  if (folders[0] === 'src' && folders[1] === 'core') return folders.slice(0, 3).join('/');
  return folders.slice(0, ['src', 'activities', 'studio', 'test'].includes(folders[0] ?? '') ? 2 : 1).join('/');
}
