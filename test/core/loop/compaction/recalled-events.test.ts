import { describe, expect, test } from 'vitest';
import { DEFAULT_RECALL } from '../../../../src/core/domain/agent.ts';
import { RECALL_FRAME, type Recalled } from '../../../../src/core/domain/memory.ts';
import { emptyWindow, extendWindow } from '../../../../src/core/domain/window.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import { call, message, responded, said } from '../fakes/fake-ports.ts';
import { agent, giving, letters, read, watched } from '../fakes/watched-run.ts';

const recalled: Recalled = { id: 'recall-1', text: `${RECALL_FRAME}\n${letters(3_900)}`, note: { entries: 1 } };
const memory = { recall: DEFAULT_RECALL };

/** The compactions of a run, in order. */
function compactions({ context }: RunState): string[] {
  return context.events.flatMap(({ compaction = {} }) => Object.keys(compaction));
}

describe('a full window', () => {
  test('drops texts recalled for earlier messages first, and is not summarized if that is enough', async () => {
    const run = await watched({
      snapshot: agent({}, { memory }),
      model: [
        responded([message(letters(2_000)), call('c1', 't')], { recalled }),
        (fake) => {
          fake.inbox.add({ id: 'm1', content: letters(1_000), timestamp: '2023-11-14T22:13:20.000Z' });
          return responded([message(letters(2_500)), call('c2', 't')]);
        },
        said('done'),
      ],
      tools: giving(500, 500),
    });
    expect(compactions(run.state)).toEqual(['dropped']);
    expect(run.summaries).toEqual([]);
    expect(JSON.stringify(run.windows[2])).not.toContain(RECALL_FRAME);
    // The record keeps everything.
    expect(JSON.stringify(run.state.context.events)).toContain(RECALL_FRAME);
  });

  test('drops texts recalled for the present message before a summary would repeat them', async () => {
    const run = await watched({
      snapshot: agent({}, { memory }),
      model: [
        responded([message(letters(3_000)), call('c1', 't')], { recalled }),
        responded([message(letters(4_000)), call('c2', 't')]),
        said('done'),
      ],
      tools: giving(100, 3_000),
    });
    expect(compactions(run.state)).toEqual(['dropped', 'summarized']);
    expect(read(run.windows[2])).toEqual(['Q', 'Summary of the conversation so far:', letters(40), 'call c2', 'c2: 3000']);
  });

  test('loses it, too, if the agent summarizes nothing', async () => {
    const run = await watched({
      snapshot: agent({ summarize: false, keepResults: 0 }, { memory }),
      model: [responded([message(letters(7_500)), call('c1', 't')], { recalled }), said('done')],
      tools: giving(10),
    });
    expect(run.result.status).toBe('completed');
    expect(compactions(run.state)).toEqual(['dropped']);
  });

  test('is the same for every reader that folds the record', async () => {
    const run = await watched({
      snapshot: agent({}, { memory }),
      model: [1, 2, 3]
        .map((n) => responded([message(letters(3_000)), call(`c${n}`, 't')], n === 1 ? { recalled } : {}))
        .concat([said('done')]),
      tools: giving(500, 2_000, 500),
      inbox: new Inbox(),
    });
    expect(compactions(run.state)).toContain('dropped');
    expect(run.state.context.events.reduce(extendWindow, emptyWindow())).toEqual(run.state.window);
  });
});

test('a summary by an agent named "memory" is nothing that was recalled', async () => {
  const run = await watched({
    snapshot: agent({}, { name: 'memory', memory: { tools: true } }),
    model: [...[1, 2, 3].map((n) => responded([message(letters(3_000)), call(`c${n}`, 't')])), said('done')],
    tools: giving(100, 100, 2_000),
  });
  expect(compactions(run.state)).toEqual(['summarized']);
});
