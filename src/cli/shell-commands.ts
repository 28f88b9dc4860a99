import { argument, defineCommand, flag, option } from './define-command.ts';
import { port } from './options.ts';

/** The shells for which there is a script. */
export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export type Shell = (typeof SHELLS)[number];

export const COMPLETION = defineCommand({
  name: 'completion',
  summary: 'print the script that completes command lines in a shell',
  description:
    'Prints the script for bash, zsh, fish or powershell. Commands and options come from this program, and ids of runs, sessions and ' +
    'schedules and names of agents from the server, if it answers within 300 ms. With words behind --, prints what may stand for the last of ' +
    'them, as the scripts ask it.',
  args: {
    shell: argument('<shell>', SHELLS.join(', ')),
    words: argument('[words...]', 'the words of a command line, without the name of the program; the last one may be empty'),
  },
});

export const DOCS = defineCommand({
  name: 'docs',
  summary: 'read the guide of this version, without a network',
  description:
    'Serves the guide that is in the package on this machine alone, until Ctrl-C. With words, names the pages that are about them, the best ' +
    'one first; with --print, prints that one as Markdown instead, and serves nothing. Needs no server.',
  args: { words: argument('[words...]', 'what you look for: "approval", or the code of an error') },
  options: {
    print: flag('print the best page, or without words the list of pages, as Markdown'),
    port: option('<port>', 'the port to listen on (default: 8789, or a free one if that is taken)', { read: port }),
  },
});

export const SCHEMA = defineCommand({
  name: 'schema',
  summary: 'print a JSON Schema, for editors',
  description:
    'Prints the JSON Schema of the documents of programs: name it in the settings of your editor, or in "$schema" of a document.',
  args: { kind: argument('<kind>', 'program') },
});
