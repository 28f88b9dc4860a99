import { isResponse } from '../../../../src/core/domain/record.ts';
import type { StreamItem } from '../../../../src/client/stream/stream-item.ts';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import type { Operation } from '../adapter.ts';
import { streamWithKit } from '../streamed-run.ts';
import { reactKitRun } from './react-run.ts';

/** A streamed run of the agent "agent": the kinds of the events of the seed, in order. */
export const reactStream: Operation = {
  input: ['model', 'tools', 'max_iterations'],
  expect: ['events'],
  perform: async (input: JsonObject) => {
    const items = await streamWithKit({
      ...reactKitRun(input),
      // The provider of the cases sends the whole text of an answer at once.
      report: ({ content }, onDelta) => onDelta({ type: 'text', text: content }),
    });
    return { events: kindsOf(items) };
  },
};

/** Returns the kinds of the items in the words of the seed, which has no steps and no end in its stream. */
function kindsOf(items: readonly StreamItem[]): string[] {
  const kinds: string[] = [];
  let provisional: string[] = [];
  for (const item of items) {
    if (item.type === 'delta' && (item.delta.type === 'text' || item.delta.type === 'reasoning'))
      provisional.push(`${item.delta.type}_delta`);
    // The seed has no word for discarded output.
    if (item.type === 'reset') provisional = [];
    if (item.type !== 'event') continue;
    const { event } = item;
    kinds.push(...provisional, ...(isResponse(event) ? ['completion'] : []));
    kinds.push(...event.content.filter(({ type }) => type === 'tool_result').map(() => 'tool_result'));
    provisional = [];
  }
  return kinds;
}
