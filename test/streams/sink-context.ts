import { Client } from '@temporalio/client';
import { defaultFailureConverter, defaultPayloadConverter, type LoadedDataConverter, type PayloadCodec } from '@temporalio/common';
import type { StreamSinkContext } from '../../src/streams/stream-sink.ts';

/** The converter of a run with these codecs. */
export function converterWith(...payloadCodecs: PayloadCodec[]): LoadedDataConverter {
  return { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs };
}

/** The context of a sink that a worker or a client opens. Its log lines are kept. */
export function sinkContext(side: 'worker' | 'client', given: Partial<StreamSinkContext> = {}): StreamSinkContext & { lines: string[] } {
  const lines: string[] = [];
  return {
    namespace: 'default',
    dataConverter: converterWith(),
    // A client connects when it is first used, which these sinks do not do.
    ...(side === 'client' ? { client: new Client() } : {}),
    log: (line) => lines.push(line),
    lines,
    ...given,
  };
}
