// Large results of tools are kept in a bucket instead of the history: a payload store over any object storage with the API of S3.
import { createHash } from 'node:crypto';
import { StorageDriverClaim } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { LonghaulError } from 'longhaul';
import type { PayloadStore, StoredRun } from 'longhaul/worker';

const { Payload } = temporal.api.common.v1;

/** Sends a signed request to the bucket: `(path, init) => aws.fetch(`https://my-bucket.s3.eu-central-1.amazonaws.com${path}`, init)`. */
export type Bucket = (path: string, init?: { method?: string; body?: Uint8Array<ArrayBuffer> }) => Promise<Response>;

export function s3Store(bucket: Bucket, name = 's3'): PayloadStore {
  const send = async (path: string, init?: Parameters<Bucket>[1]): Promise<Response> => {
    const response = await bucket(path, init);
    if (response.ok) return response;
    throw new LonghaulError('spilled_unavailable', `The bucket answers ${response.status} to ${init?.method ?? 'GET'} ${path}`);
  };
  return {
    name, // recorded with the content: a store of another name does not read it
    type: 'example.s3',
    // Payloads arrive as the codec has encoded them: with encryption, the bucket has no clear text.
    store: ({ target }, payloads) =>
      Promise.all(
        payloads.map(async (payload) => {
          if (target?.id === undefined) throw new LonghaulError('internal', 'Content without a run');
          const body = Uint8Array.from(Payload.encode(payload).finish());
          const key = `${folder({ namespace: target.namespace, runId: target.id })}${createHash('sha256').update(body).digest('hex')}`;
          await send(`/${key}`, { method: 'PUT', body });
          return new StorageDriverClaim({ key });
        }),
      ),
    retrieve: (_, claims) =>
      Promise.all(
        claims.map(async ({ claimData }) => Payload.decode(new Uint8Array(await (await send(`/${claimData['key'] ?? ''}`)).arrayBuffer()))),
      ),
    deleteRun: async (run) => {
      for (;;) {
        const listed = await (await send(`/?list-type=2&prefix=${encodeURIComponent(folder(run))}`)).text();
        const keys = [...listed.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = '']) => key);
        if (keys.length === 0) return;
        for (const key of keys) await send(`/${key}`, { method: 'DELETE' });
      }
    },
  };
}

/** Ids may hold any character: in hexadecimal, no run's path begins with another run's. */
function folder({ namespace, runId }: StoredRun): string {
  return `longhaul/${Buffer.from(namespace).toString('hex')}/${Buffer.from(runId).toString('hex')}/`;
}
