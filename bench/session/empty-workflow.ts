import { condition, defineUpdate, proxyActivities, setHandler } from '@temporalio/workflow';
import type { EMPTY } from './questions.ts';

const { empty } = proxyActivities<Record<typeof EMPTY, (id: string) => Promise<void>>>({ startToCloseTimeout: '1 minute' });

/** Runs `count` empty activities sequentially: the cost of the SDK and the server alone. */
export async function emptyActivities(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await empty(`chain-${index}`);
}

/** An empty activity for each Update: the cost of a wake by itself. */
export async function emptyOnUpdate(count: number): Promise<void> {
  const asked: string[] = [];
  setHandler(defineUpdate<void, [string]>('ask'), (id) => void asked.push(id));
  for (let done = 0; done < count; done += 1) {
    await condition(() => asked.length > done);
    await empty(asked[done] ?? '');
  }
}
