import { expect, test } from 'vitest';
import { DevServerError } from '../../src/dev-server/start-flags.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { isReachable } from '../../src/dev-server/start-flags.ts';
import { fakeCli, sandbox, silentServer } from './fake-programs.ts';

test('a server that dies early gives an error with the end of its log', async () => {
  const place = await sandbox();
  await place.program('temporal', fakeCli({ start: 'echo "unable to open database: no space left" >&2; exit 1' }));
  const starting = startDevServer({ env: place.env });
  await expect(starting).rejects.toThrow(DevServerError);
  await expect(starting).rejects.toThrow('ended before it was ready. Its log ends with:\nunable to open database: no space left');
});

test('a chosen port in use is refused before a process is started', async () => {
  const place = await sandbox();
  await place.program('temporal', fakeCli());
  const { port } = await silentServer();
  await expect(startDevServer({ env: place.env, port })).rejects.toThrow(`Port "${port}" cannot be used`);
});

test('an existing server is never stopped', async () => {
  const place = await sandbox();
  const { address } = await silentServer();
  const server = await startDevServer({ env: { ...place.env, TEMPORAL_ADDRESS: address } });
  expect(server).toMatchObject({ address, source: 'TEMPORAL_ADDRESS' });
  await server.stop();
  expect(await isReachable(address, 1_000)).toBe(true);
});
