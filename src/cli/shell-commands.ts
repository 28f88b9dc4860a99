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
    'schedules and names of agents from the server, if it answers within 300 ms. With words after --, prints the candidates for the last of ' +
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
    'Serves the guide in the package, only on this machine, until Ctrl-C. With words, names the pages that are about them, the best ' +
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

export const DOCTOR = defineCommand({
  name: 'doctor',
  summary: 'check that agents can run here, and say what to do where they cannot',
  description:
    'Checks Node and the installed packages, the Temporal server and the task queue, your agents, the sandboxes of code, stores, encryption and ' +
    'the network, all at once and within 10 seconds. Prints one sentence for each, and one command where something is wrong. Changes nothing ' +
    'without --fix, calls no model without --live, and shows only the names of secrets. Exits with 1 if a check has failed.',
  options: {
    agents: option('<module>', 'the module of your agents (default: ./agents.ts, if there is one)', { short: 'a' }),
    live: flag('call each provider once, for at most 10 tokens; asks first'),
    fix: flag('make the changes that are named: add missing search attributes and folders; prints each with the command that undoes it'),
    codecEndpoint: option('<url>', 'the codec server of the Temporal UI (default: http://127.0.0.1:8234)', {
      manual: 'Only looked at if payloads are encoded',
    }),
  },
});
