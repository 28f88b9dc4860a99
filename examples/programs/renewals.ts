import { defineAnchor, defineProgram, defineTool } from 'longhaul';
import { ask, forEach, tool, unit } from 'longhaul/program';
import { z } from 'zod';

const ADDRESSES = new Map([['Phone line', 'Nordwest Telecom, 12 Harbour Street']]);

const findAddress = defineTool({
  name: 'find_address',
  description: 'Finds the address of the other party of a contract',
  parameters: z.object({ contract: z.string() }),
  execute: ({ contract }) => ADDRESSES.get(contract) ?? 'To whom it may concern',
});

/** A custom anchor: what it declares is part of the system prompt, and `check` decides about the answer. */
const noThreats = defineAnchor({
  name: 'NoThreats',
  reject: ['threats'],
  check: (text) => (/lawyer|legal action/i.test(text) ? ['The letter threatens the other party'] : []),
});

export const renewals = defineProgram({
  name: 'renewals',
  model: `openai/${process.env['OPENAI_MODEL'] || 'gpt-5-mini'}`,
  input: z.object({ contracts: z.array(z.object({ title: z.string(), text: z.string() })) }),
  units: [
    unit('read', { persona: 'You read contracts for a small company.', anchors: ['RequiresCitation'] }, [
      forEach('Terms', '{{input.contracts}}', { as: 'contract', atOnce: 3 }, [
        ask('Term', 'When does it renew, and what does it cost? Cite the clauses as [4].\n{{contract.title}}: {{contract.text}}', {
          refine: { maxAttempts: 3 },
        }),
      ]),
    ]),
    unit('choose', { needs: ['read'] }, [
      ask('Choice', 'Which one of these contracts should we cancel?\n{{input.contracts}}\nTheir terms: {{read.Terms}}', {
        output: z.object({ contract: z.string(), reason: z.string(), savings: z.number(), confidence: z.number() }),
        confidenceFloor: 0.8,
        refine: { maxAttempts: 3, backoff: 'exponential' },
      }),
    ]),
    unit('write', { needs: ['choose'], when: { of: 'choose.Choice.savings', is: { minimum: 100 } }, anchors: ['NoThreats'] }, [
      tool('Address', findAddress, { contract: '{{choose.Choice.contract}}' }),
      ask('Letter', 'Write a letter that cancels the contract "{{choose.Choice.contract}}". Address it to: {{Address}}', {
        review: { deadline: '2d' }, // a person accepts the letter, edits it, or rejects it with a reason
        refine: { maxAttempts: 3 },
      }),
    ]),
  ],
  output: { cancel: '{{choose.Choice}}', letter: '{{write.Letter}}' },
});

// The CLI takes this module too: longhaul worker --agents examples/programs/renewals.ts
export const programs = [renewals];
export const anchors = [noThreats];
