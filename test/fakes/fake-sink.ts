import { defaultPayloadConverter, type LoadedDataConverter } from '@temporalio/common';
import type { Delta, StreamEntry } from '../../src/core/domain/stream.ts';
import type { PublishingActivity, StreamSink, StreamSinkContext } from '../../src/streams/stream-sink.ts';

/** An entry as a sink got it. */
export interface Published {
  runId: string;
  entry: StreamEntry;
  activity: PublishingActivity | undefined;
}

/** A sink that keeps what it gets. */
export interface FakeSink extends StreamSink {
  readonly published: Published[];
  /** The environments that it was opened in. */
  readonly opened: StreamSinkContext[];
  /** The number of times that it was closed. */
  closed: number;
  /** The entries of a run. */
  entries(runId?: string): StreamEntry[];
}

export function fakeSink({ publish = () => undefined }: { publish?: (published: Published) => void } = {}): FakeSink {
  const sink: FakeSink = {
    name: 'fake',
    published: [],
    opened: [],
    closed: 0,
    entries: (runId) => sink.published.filter((one) => runId === undefined || one.runId === runId).map(({ entry }) => entry),
    open: (context) => {
      sink.opened.push(context);
      return {
        announces: true,
        publish: (runId, entry, activity) => {
          const published = { runId, entry: structuredClone(entry), activity };
          sink.published.push(published);
          publish(published);
        },
        // oxlint-disable-next-line require-yield -- no test reads
        async *read() {
          await Promise.resolve();
        },
        removeRun: () => Promise.resolve(),
        health: () => Promise.resolve(),
        close: async () => {
          sink.closed += 1;
        },
      };
    },
  };
  return sink;
}

/** The deltas among entries, with the id of the event that replaces them, and joined where they follow each other. */
export function folded(entries: readonly StreamEntry[]): Record<string, Delta[]> {
  const deltas: Record<string, Delta[]> = {};
  for (const entry of entries) {
    if (entry.type !== 'delta') continue;
    const { of, delta } = entry;
    const list = (deltas[of.eventId] ??= []);
    const last = list.at(-1);
    if (last !== undefined && 'text' in last && 'text' in delta && sameButText(last, delta)) last.text += delta.text;
    else list.push({ ...delta });
  }
  return deltas;
}

function sameButText(one: Delta, other: Delta): boolean {
  return JSON.stringify({ ...one, text: '' }) === JSON.stringify({ ...other, text: '' });
}

/** A converter without codecs. */
export const PLAIN: LoadedDataConverter = {
  payloadConverter: defaultPayloadConverter,
  payloadCodecs: [],
} as Partial<LoadedDataConverter> as LoadedDataConverter;
