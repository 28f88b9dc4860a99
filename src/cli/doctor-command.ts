import { defineCommand, flag, option } from './define-command.ts';

export const DOCTOR = defineCommand({
  name: 'doctor',
  summary: 'check that agents can run here, and say what to do where they cannot',
  description:
    'Checks Node and the installed packages, the Temporal server and the task queue, your agents, the sandboxes of code, stores, encryption and ' +
    'the network, all at once and within 10 seconds. Prints one sentence for each, and one command where something is wrong. Changes nothing ' +
    'without --fix, calls no model without --live, and shows secrets by name alone. Exits with 1 if a check has failed.',
  options: {
    agents: option('<module>', 'the module of your agents (default: ./agents.ts, if there is one)', { short: 'a' }),
    live: flag('call each provider once, for at most 10 tokens; asks first'),
    fix: flag('make the changes that are named: add missing search attributes and folders; prints each with the command that undoes it'),
    codecEndpoint: option('<url>', 'the codec server of the Temporal UI (default: http://127.0.0.1:8234)', {
      manual: 'Only looked at if payloads are encoded',
    }),
  },
});
