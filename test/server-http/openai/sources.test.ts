import { expect, test } from 'vitest';
import type { Source } from '../../../src/core/domain/content.ts';
import { eventsOf } from './followed.ts';
import { openaiFor, served, ToldRun } from './served-run.ts';

const MOON = { url: 'https://moon.test/', title: 'Moon' };
const SOURCES: Source[] = [{ ...MOON, start: 5, end: 9 }, { url: 'https://sun.test/' }, { filename: 'notes.pdf' }];
const text = (content: string) => [{ type: 'message' as const, role: 'assistant' as const, content }];
const CITED = [
  { type: 'url_citation', ...MOON, start_index: 5, end_index: 9 },
  { type: 'url_citation', url: 'https://sun.test/', title: '', start_index: 0, end_index: 10 },
];
const chatCited = (from: number): object[] =>
  CITED.map(({ type, ...one }) => ({
    type,
    url_citation: { ...one, start_index: one.start_index + from, end_index: one.end_index + from },
  }));

/** A run that says something with a source, and answers with others. */
function cited(): ToldRun {
  return new ToldRun()
    .event('e1', [...text('Wait'), { type: 'tool_call', toolCallId: 'c1', name: 'search', arguments: {} }], {
      usage: null,
      sources: [{ url: 'https://first.test/' }],
    })
    .toolResult('c1', 'found')
    .delta('e2', 'Far')
    .event('e2', text('Far: moon.'), { usage: null, sources: SOURCES })
    .end('Far: moon.');
}

test('a completion has the pages of its answer as annotations, also if it is streamed', async () => {
  const openai = openaiFor(served(cited()).handler);
  const asked = { model: 'clerk', messages: [{ role: 'user' as const, content: 'Q' }] };
  const completion = await openai.chat.completions.create(asked);
  expect(completion.choices[0]?.message.annotations).toEqual(chatCited(0));
  const chunks = await Array.fromAsync(await openai.chat.completions.create({ ...asked, stream: true }));
  const deltas = chunks.map(({ choices: [one] }) => one?.delta ?? {});
  // The text of the stream begins with the text of the first step.
  expect(deltas.flatMap((delta) => ('annotations' in delta ? [delta.annotations] : []))).toEqual([chatCited('Wait\n\n'.length)]);
});

test('a completion reads only the end of the record, also of a run whose beginning the server has removed', async () => {
  const run = new ToldRun();
  for (let step = 0; step < 300; step += 1) run.answer(`e${step}`, 'Wait', { id: `c${step}`, name: 'search', arguments: {} });
  run.event('e', text('Far: moon.'), { usage: null, sources: SOURCES });
  for (let note = 0; note < 30; note += 1) run.event(`n${note}`, []);
  const { handler, pages } = served(run.end('Far: moon.'));
  const { choices } = await openaiFor(handler).chat.completions.create({ model: 'clerk', messages: [{ role: 'user', content: 'Q' }] });
  expect(choices[0]?.message.annotations).toEqual(chatCited(0));
  expect(Math.min(...pages)).toBeGreaterThan(280);
  const removed = served(new ToldRun().end('Far: moon.'), { removed: 500 });
  const completion = await openaiFor(removed.handler).chat.completions.create({
    model: 'clerk',
    messages: [{ role: 'user', content: 'Q' }],
  });
  expect(completion.choices[0]?.message).toMatchObject({ content: 'Far: moon.' });
});

test('an answer that is not the text of the model has no annotations', async () => {
  const run = new ToldRun().event('e1', text('Far: moon.'), { usage: null, sources: SOURCES }).end({ far: true });
  const completion = await openaiFor(served(run).handler).chat.completions.create({
    model: 'clerk',
    messages: [{ role: 'user', content: 'Q' }],
  });
  expect(completion.choices[0]?.message).not.toHaveProperty('annotations');
});

test('the messages of a response have annotations, and its stream says them once, wherever a reader comes back', async () => {
  const openai = openaiFor(served(cited()).handler);
  const response = await openai.responses.create({ model: 'clerk', input: 'Q' });
  const annotations = response.output.map((item) =>
    item.type === 'message' ? item.content.map((part) => 'annotations' in part && part.annotations) : [],
  );
  expect(annotations).toEqual([[[expect.objectContaining({ url: 'https://first.test/' })]], [], [CITED]]);
  const events = eventsOf(cited().items);
  const added = (all: typeof events): unknown[] =>
    all.flatMap((one) => (one.type === 'response.output_text.annotation.added' ? [one.annotation] : []));
  expect(added(events)).toHaveLength(3);
  for (const [index, { sequence_number: after }] of events.entries()) {
    const seen = events.slice(0, index + 1);
    expect(added([...seen, ...eventsOf(cited().items, after)])).toEqual(added(events));
  }
});
