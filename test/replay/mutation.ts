/** One change of one file of the project. */
export interface Mutation {
  /** Relative to the root of the project. */
  file: string;
  /** Occurs exactly once in the file. */
  find: string;
  replace: string;
  /** An import that the replacement needs. */
  needs?: string;
}

/** A change of the code without a patch, and the command where a replay has to stop in one of the histories that it breaks. */
export interface BrokenChange extends Mutation {
  what: string;
  /** The name of the history. */
  history: string;
  /** A text is the beginning of the message for a command with the type and name of the history. */
  caught: { step: number | null; expected: string; actual: string } | string;
}

/** Returns the text of a file with a change. Throws if the place of the change is not there exactly once. */
export function mutatedText(text: string, { file, find, replace, needs = '' }: Mutation): string {
  const parts = text.split(find);
  if (parts.length !== 2) throw new Error(`"${find}" stands ${parts.length - 1} times in ${file}: the mutation needs another place`);
  return `${needs}\n${parts.join(replace)}`;
}
