import { z } from 'zod';
import { contextUpdate, defineAgent, defineTool, withUpdate } from '../../../src/index.ts';
import { approve, callTool, delay, say, together } from '../../../src/testing/index.ts';
import { scenario } from './scenario.ts';

const deps = z.object({ rank: z.string(), visits: z.array(z.string()).default([]) });
type Deps = z.infer<typeof deps>;

const note = defineTool({
  name: 'note',
  description: 'Notes a visit',
  parameters: z.object({ where: z.string() }),
  execute: ({ where }, context: { readonly deps: Readonly<Deps> }) =>
    withUpdate(`${context.deps.visits.length} before`, contextUpdate().append('visits', where)),
});
const promote = defineTool({
  name: 'promote',
  description: 'Sets the rank',
  parameters: z.object({ rank: z.unknown() }),
  execute: ({ rank }) => withUpdate('promoted', contextUpdate().set('rank', rank as never)),
});
const rank = defineTool({
  name: 'rank',
  description: 'Tells the rank',
  parameters: z.object({}),
  execute: (_, context: { readonly deps: Readonly<Deps> }) => context.deps.rank,
});
const leak = defineTool({
  name: 'leak',
  description: 'Tells a secret',
  parameters: z.object({ into: z.enum(['result', 'deps']) }),
  execute: async ({ into }, { secret }) => {
    const token = await secret('crm-token');
    return into === 'result' ? `the token is ${token}` : withUpdate('noted', contextUpdate().set('rank', token));
  },
});
const spend = defineTool({
  name: 'spend',
  description: 'Spends money',
  parameters: z.object({}),
  approval: (_, context: { readonly deps: Readonly<Deps> }) => context.deps.rank !== 'gold' && { reason: 'not gold' },
  execute: () => 'spent',
});

const agent = defineAgent({ name: 'agent', model: 'scripted/m', deps, tools: [note, promote, rank, leak, spend] });
const inSequence = defineAgent({ name: 'agent', model: 'scripted/m', deps, tools: [note, promote, rank, spend], parallel: false });
const started = { deps: { rank: 'gold', visits: ['home'] } };

const counted = z.object({ counters: z.record(z.string(), z.number()), notes: z.array(z.string()) });
type Counted = { readonly deps: Readonly<z.infer<typeof counted>> };

const increment = defineTool({
  name: 'increment',
  description: 'Increments a named counter, which begins at 0',
  parameters: z.object({ name: z.string() }),
  updates: ['counters'],
  execute: ({ name }, { deps: { counters } }: Counted) => {
    const value = (counters[name] ?? 0) + 1;
    return withUpdate({ counter: name, value }, contextUpdate().set('counters', { ...counters, [name]: value }));
  },
});
const addNote = defineTool({
  name: 'add_note',
  description: 'Adds a note to the scratchpad',
  parameters: z.object({ text: z.string() }),
  updates: ['notes'],
  execute: ({ text }, { deps: { notes } }: Counted) =>
    withUpdate({ added: text, total: notes.length + 1 }, contextUpdate().append('notes', text)),
});
const showState = defineTool({
  name: 'show_state',
  description: 'Shows the counters and the notes',
  parameters: z.object({}),
  execute: (_, context: Counted) => context.deps,
});
const counter = defineAgent({ name: 'agent', model: 'scripted/m', deps: counted, tools: [increment, addNote, showState] });
const VOWEL = callTool('increment', { name: 'vowels' });

/** Changes that tools make to the data of a run. */
export const UPDATES = [
  scenario('each call of an answer sees what the calls before it changed', counter, {
    deps: { counters: {}, notes: [] },
    script: [
      together(VOWEL, VOWEL, VOWEL, callTool('add_note', { text: 'Found vowels: e, e, a' }), callTool('show_state')),
      say('There are three vowels.'),
    ],
    timeline: [
      /calls/,
      /calls/,
      /calls/,
      /calls/,
      /calls/,
      'increment: {"counter":"vowels","value":1}',
      'increment: {"counter":"vowels","value":2}',
      'increment: {"counter":"vowels","value":3}',
      'add_note: {"added":"Found vowels: e, e, a","total":1}',
      'show_state: {"counters":{"vowels":3},"notes":["Found vowels: e, e, a"]}',
      'deps: set counters',
      'deps: set counters',
      'deps: set counters',
      'deps: append notes',
      'agent: There are three vowels.',
    ],
  }),
  scenario('calls in sequence see the changes of those before', inSequence, {
    ...started,
    script: [together(callTool('note', { where: 'a' }), callTool('note', { where: 'b' })), say('Done.')],
    timeline: [/calls/, /calls/, 'note: 1 before', 'note: 2 before', 'deps: append visits', 'deps: append visits', 'agent: Done.'],
  }),
  scenario('changes of overlapping calls are applied in the order of the calls', agent, {
    ...started,
    script: [together(callTool('note', { where: 'slow' }), callTool('promote', { rank: 'silver' })), callTool('rank'), say('Done.')],
    faults: [delay('note', 40)],
    timeline: [
      /calls/,
      /calls/,
      'note: 1 before',
      'promote: promoted',
      'deps: append visits',
      'deps: set rank',
      /calls/,
      'rank: silver',
      'agent: Done.',
    ],
  }),
  scenario('an update that breaks the schema changes nothing', agent, {
    ...started,
    script: [callTool('promote', { rank: 7 }), callTool('rank'), say('Done.')],
    timeline: [/calls/, /^promote failed: The update of the deps by tool 'promote' was refused/, /calls/, 'rank: gold', 'agent: Done.'],
  }),
  scenario('secrets get neither into results nor into deps', agent, {
    ...started,
    secrets: { 'crm-token': 'a-very-secret-token' },
    script: [callTool('leak', { into: 'result' }), callTool('leak', { into: 'deps' }), say('Done.')],
    timeline: [/calls/, 'leak: the token is [secret "crm-token"]', /calls/, /^leak failed: The update of the deps/, 'agent: Done.'],
  }),
  scenario('a predicate is asked again once the deps are others', inSequence, {
    ...started,
    script: [together(callTool('spend'), callTool('promote', { rank: 'silver' }), callTool('spend')), say('Done.')],
    decide: ({ reason }) => (reason === 'not gold' ? approve({ by: 'ann' }) : undefined),
    timeline: [
      /calls spend/,
      /calls promote/,
      /calls spend/,
      'spend: spent',
      'promote: promoted',
      'deps: set rank',
      'ann approves spend',
      'spend: spent',
      'agent: Done.',
    ],
  }),
];
