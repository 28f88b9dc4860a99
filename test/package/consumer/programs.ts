import { defineProgram } from 'longhaul';
import { ask, type ProgramDocument, unit } from 'longhaul/program';
import { z } from 'zod';

export const sorting = defineProgram({
  name: 'sorting',
  model: 'scripted/sort',
  input: z.object({ ticket: z.string() }),
  units: [unit('sort', {}, [ask('Kind', 'What is this? {{input.ticket}}', { output: z.object({ kind: z.enum(['refund', 'bug']) }) })])],
  output: '{{sort.Kind.kind}}',
});

export const document: ProgramDocument = sorting.toJSON();
