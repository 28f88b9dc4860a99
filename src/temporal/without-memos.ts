import { Client } from '@temporalio/client';
import type { PayloadConverter } from '@temporalio/common';

const known = new WeakMap<Client, Client>();

/**
 * The same client for what the server says of workflows: it leaves memos unread. Anybody may have written them, and one
 * that cannot be read would fail the whole answer, of a list as well.
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
