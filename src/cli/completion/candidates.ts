import type { Argument, Command as Parser, Option } from 'commander';

/** A candidate for a word, and the text that a shell shows next to it. */
export interface Candidate {
  value: string;
  meaning?: string;
}

/** The kinds of values from the server, by operand name. */
export type ServerValue = 'run' | 'session' | 'agent' | 'schedule';

/** Values from the server with this prefix. `before` is the part of the word in front of the value, such as `--agent=`. */
export interface ServerCandidates {
  from: 'server';
  value: ServerValue;
  beginning: string;
  before: string;
}

/** The candidates for the last word: a list, the shell's files, or values from the server. */
type Candidates = { from: 'here'; list: readonly Candidate[] } | { from: 'files' } | ServerCandidates;

/** Operands that are files or folders. */
const FILES = ['module', 'file', 'folder', 'directory', 'path', 'histories'];

/** Operands with values from the server; the id of a parent is a run id. */
const SERVER_VALUES: Readonly<Record<string, ServerValue>> = {
  run: 'run',
  runId: 'run',
  session: 'session',
  agent: 'agent',
  program: 'agent',
  schedule: 'schedule',
};

const NOTHING: Candidates = { from: 'here', list: [] };

/** Returns the candidates for the last word, from the tree of commands. */
export function candidatesFor(root: Parser, words: readonly string[]): Candidates {
  const current = words.at(-1) ?? '';
  const { command, position, open, onlyOperands } = placeOf(root, words.slice(0, -1));
  if (open !== undefined) return valuesOf(open, current);
  const [, long = '', begun = ''] = /^(--[\w-]+)=(.*)$/.exec(current) ?? [];
  const assigned = long === '' ? undefined : optionNamed(command, long);
  if (assigned !== undefined) {
    const values = valuesOf(assigned, begun);
    const before = `${long}=`;
    if (values.from === 'server') return { ...values, before };
    if (values.from === 'files') return NOTHING;
    return here(
      values.list.map(({ value, ...rest }) => ({ value: `${before}${value}`, ...rest })),
      current,
    );
  }
  if (current.startsWith('-') && !onlyOperands) return here(optionsOf(command).map(optionCandidate), current);
  if (command.commands.length > 0 && position === 0) {
    return here(
      command.commands.map((one) => ({ value: one.name(), meaning: one.summary() })),
      current,
    );
  }
  const operand = command.registeredArguments[position] ?? lastVariadic(command);
  return operand === undefined ? NOTHING : valuesOf(operand, current);
}

/** The position of the last word. `open`: the option before it, if it takes the word as its value. */
interface Place {
  command: Parser;
  position: number;
  open: Option | undefined;
  onlyOperands: boolean;
}

function placeOf(root: Parser, words: readonly string[]): Place {
  const place: Place = { command: root, position: 0, open: undefined, onlyOperands: false };
  for (const word of words) {
    if (place.open !== undefined) place.open = undefined;
    else if (place.onlyOperands) place.position += 1;
    else if (word === '--') place.onlyOperands = true;
    else if (word.startsWith('-')) place.open = openOption(place.command, word);
    else enter(place, word);
  }
  return place;
}

function enter(place: Place, word: string): void {
  const below = place.position === 0 ? place.command.commands.find((one) => one.name() === word) : undefined;
  if (below === undefined) place.position += 1;
  else place.command = below;
}

function openOption(command: Parser, word: string): Option | undefined {
  const option = word.includes('=') ? undefined : optionNamed(command, word);
  return option?.required === true ? option : undefined;
}

/** The options of a command, and the global options. */
function optionsOf(command: Parser): Option[] {
  const own = command.options.filter(({ hidden }) => !hidden);
  return command.parent === null ? own : [...own, ...optionsOf(command.parent)];
}

function optionNamed(command: Parser, word: string): Option | undefined {
  return optionsOf(command).find(({ long, short }) => word === long || word === short);
}

function optionCandidate({ long, short, description }: Option): Candidate {
  return { value: long ?? short ?? '', meaning: description };
}

function lastVariadic(command: Parser): Argument | undefined {
  const last = command.registeredArguments.at(-1);
  return last?.variadic === true ? last : undefined;
}

function valuesOf(one: Option | Argument, current: string): Candidates {
  if (one.argChoices !== undefined)
    return here(
      one.argChoices.map((value) => ({ value })),
      current,
    );
  const name = operandName(one);
  if (FILES.includes(name)) return { from: 'files' };
  const value = SERVER_VALUES[name];
  return value === undefined ? NOTHING : { from: 'server', value, beginning: current, before: '' };
}

/** Returns `run` for `<run>` and for the option `--parent <run>`; for a name, its kind: `agent` for `--agent <name>`. */
function operandName(one: Option | Argument): string {
  if (!('flags' in one)) return one.name();
  const operand = /[<[]([\w-]+)/.exec(one.flags)?.[1] ?? '';
  return operand === 'name' ? one.attributeName() : operand;
}

function here(list: readonly Candidate[], current: string): Candidates {
  return { from: 'here', list: list.filter(({ value }) => value.startsWith(current)) };
}
