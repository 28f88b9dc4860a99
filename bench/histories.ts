import { randomUUID } from 'node:crypto';
import { jsonBytes } from '../src/core/domain/byte-budgets.ts';
import { type HistoryEvent, runHistory } from '../src/history/history-events.ts';
import { edges, type EncodedHistory, measureHistory } from './figures/encoded-history.ts';
import type { BenchOptions } from './options.ts';
import { contentBytes } from './script/scripted-run.ts';
import type { Side } from './sides/side.ts';
import { median, rounded } from './figures/statistics.ts';
import type { Surroundings } from './sides/surroundings.ts';

/** The size of a run's history. */
interface HistoryFigures {
  events: number;
  /** Events that one more step adds: the difference between runs of N and N + 1 steps. */
  eventsPerStep: number;
  historyBytes: number;
  contentBytes: number;
  /** `historyBytes / contentBytes`. */
  amplification: number;
  bytesPerStepFirst20: number;
  bytesPerStepLast20: number;
  /** Bytes of the whole history by type of event. */
  bytesByEventType: Record<string, number>;
}

/** What reasoning that goes back to the provider adds to a history. */
interface ReasoningFigures {
  /** Bytes of JSON of the items in the record. */
  itemBytes: number;
  historyBytesAdded: number;
  /** `historyBytesAdded / itemBytes`. */
  addedPerItemByte: number;
  /** Bytes of JSON of the content in the record. */
  contentBytes: number;
  /** `(contentBytes + historyBytesAdded) / (contentBytes + itemBytes)`: 1 if nothing is stored in addition to content and items. */
  storedPerByte: number;
  eventsAdded: number;
}

/** Measures a run of N steps without reasoning, and one with it. */
export async function measureReasoning(
  surroundings: Surroundings,
  { steps, reasoningChars }: Extract<BenchOptions, { command: 'history' }>,
): Promise<ReasoningFigures> {
  const [longhaul] = surroundings.sides;
  const plain = await historyOf(surroundings, longhaul, steps);
  const runId = `history-reasoning-${randomUUID()}`;
  const thinking = await historyOf(surroundings, longhaul, steps, { runId, reasoningChars });
  const { events } = await surroundings.client.handle(runId).context();
  const itemBytes = events.reduce((sum, { providerItems }) => sum + (providerItems === undefined ? 0 : jsonBytes(providerItems)), 0);
  const saidBytes = events.reduce((sum, { content }) => sum + jsonBytes(content), 0);
  if (itemBytes < steps * reasoningChars) throw new Error(`The record has ${itemBytes} bytes of reasoning, too few`);
  const historyBytesAdded = thinking.bytes - plain.bytes;
  return {
    itemBytes,
    historyBytesAdded,
    addedPerItemByte: rounded(historyBytesAdded / itemBytes, 3),
    contentBytes: saidBytes,
    storedPerByte: rounded((saidBytes + historyBytesAdded) / (saidBytes + itemBytes), 3),
    eventsAdded: thinking.events - plain.events,
  };
}

interface Round {
  run: EncodedHistory;
  longer: EncodedHistory;
}

/** Measures the histories of runs of N and N + 1 steps, of Longhaul and the loop alternately, and takes medians over the rounds. */
export async function measureHistories(
  surroundings: Surroundings,
  options: Extract<BenchOptions, { command: 'history' }>,
  say: (line: string) => void,
): Promise<{ longhaul: HistoryFigures; loop: HistoryFigures }> {
  const [longhaul, loop] = surroundings.sides;
  const rounds: [longhaul: Round[], loop: Round[]] = [[], []];
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [index, side] of [longhaul, loop].entries()) {
      const run = await historyOf(surroundings, side, options.steps);
      const longer = await historyOf(surroundings, side, options.steps + 1);
      rounds[index]?.push({ run, longer });
      say(`round ${round} of ${options.rounds}, ${side.name}: ${run.events} events, ${run.bytes} bytes`);
    }
  }
  const content = contentBytes(options.steps, options.resultChars);
  return { longhaul: figures(rounds[0], content), loop: figures(rounds[1], content) };
}

async function historyOf(
  { client, clock, commands }: Surroundings,
  side: Side,
  steps: number,
  { runId = `history-${side.name}-${randomUUID()}`, reasoningChars = 0 }: { runId?: string; reasoningChars?: number } = {},
): Promise<EncodedHistory> {
  await side.run(runId, steps, reasoningChars);
  clock.take(runId);
  commands?.take(runId, side.toolActivity);
  const events: HistoryEvent[] = [];
  for await (const event of runHistory(client.temporal, runId)) events.push(event);
  const measured = measureHistory(events, side.modelActivity);
  if (measured.stepBytes.length === steps) return measured;
  throw new Error(`Run "${runId}" has ${measured.stepBytes.length} steps, not ${steps}: a call was repeated or left out`);
}

function figures(rounds: readonly Round[], content: number): HistoryFigures {
  const middle = (value: (round: Round) => number): number => median(rounds.map(value));
  const historyBytes = middle(({ run }) => run.bytes);
  return {
    events: middle(({ run }) => run.events),
    eventsPerStep: middle(({ run, longer }) => longer.events - run.events),
    historyBytes,
    contentBytes: content,
    amplification: rounded(historyBytes / content, 3),
    bytesPerStepFirst20: rounded(
      middle(({ run }) => edges(run.stepBytes).first20),
      1,
    ),
    bytesPerStepLast20: rounded(
      middle(({ run }) => edges(run.stepBytes).last20),
      1,
    ),
    bytesByEventType: rounds[0]?.run.bytesByType ?? {},
  };
}
