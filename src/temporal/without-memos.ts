import { Client } from '@temporalio/client';
import type { PayloadConverter } from '@temporalio/common';

const known = new WeakMap<Client, Client>();

/**
 * Returns the same client for descriptions and lists of workflows, with memos left undecoded. Any client of the
 * namespace can write memos, and one that cannot be decoded would fail the whole answer, even of a list.
 */
export function withoutMemos(client: Client): Client {
  const made = known.get(client) ?? blind(client);
  known.set(client, made);
  return made;
}

function blind(client: Client): Client {
  const { namespace, identity, interceptors, loadedDataConverter } = client.options;
  const payloadConverter: PayloadConverter = {
    toPayload: (value, context, hint) => loadedDataConverter.payloadConverter.toPayload(value, context, hint),
    fromPayload: <Value>(): Value => undefined as Value,
  };
  const dataConverter = { ...loadedDataConverter, payloadCodecs: [], payloadConverter };
  return new Client({ connection: client.connection, namespace, identity, interceptors, dataConverter });
}
